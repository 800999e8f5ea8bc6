"""`python -m models.training --size small --corpus DIR` trains, exports and measures all models.

Existing outputs are skipped, and training continues from its last checkpoint.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from models.training.machine import choose_device, prepare_process

HERE = Path(__file__).parent


def main() -> None:
    """Parse the command line and run the stages."""
    prepare_process()  # before anything imports torch
    from models.training import stages
    from models.training.sizes import SIZES

    runs = {
        "tokenizer": stages.run_tokenizer,
        "prepare": stages.run_prepare,
        "train": stages.run_train,
        "evaluate": stages.run_evaluate,
    }
    models = list(SIZES["small"])
    parser = argparse.ArgumentParser(
        prog="python -m models.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--models", nargs="+", choices=models, default=models)
    parser.add_argument("--corpus", type=Path, help="folder of *.txt.xz files")
    parser.add_argument("--stages", nargs="+", choices=list(runs), default=list(runs))
    parser.add_argument("--tokens", type=int, help="training budget, with a single --models")
    parser.add_argument("--stop-after", type=int, metavar="STEP", help="end training early")
    parser.add_argument("--start-from", type=Path, help="begin with the weights of this export")
    parser.add_argument("--runs", type=Path, default=HERE / "runs", help="tokens, checkpoints")
    parser.add_argument("--output", type=Path, default=HERE.parent, help="the exports")
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="to export")
    parser.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    options = parser.parse_args()
    if (options.tokens or options.start_from) and len(options.models) != 1:
        parser.error("--tokens and --start-from are for one model: name it with --models")

    plans = dict(SIZES[options.size])
    if options.tokens:
        (name,) = options.models
        recipe = replace(plans[name].recipe, tokens=options.tokens)
        plans[name] = replace(plans[name], recipe=recipe)
    work = stages.Workspace(
        size=options.size,
        plans=plans,
        chosen=tuple(name for name in plans if name in options.models),
        corpus=options.corpus,
        runs=options.runs,
        output=options.output,
        device=choose_device(options.device),
        checkpoint=options.checkpoint,
        start_from=options.start_from,
    )
    for stage in options.stages:
        if stage == "train":
            stages.run_train(work, options.stop_after)
        else:
            runs[stage](work)


if __name__ == "__main__":
    main()
