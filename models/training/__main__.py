"""`python -m models.training --size small --corpus DIR` runs all stages, each skipped when done."""

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
        "export": stages.run_export,
        "evaluate": stages.run_evaluate,
    }
    parser = argparse.ArgumentParser(prog="python -m models.training", description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--corpus", type=Path, help="folder of *.txt.xz files")
    parser.add_argument("--stages", nargs="+", choices=list(runs), default=list(runs))
    parser.add_argument("--tokens", type=int, help="training budget, instead of the preset's")
    parser.add_argument("--stop-after", type=int, metavar="STEP", help="end training early")
    parser.add_argument("--runs", type=Path, default=HERE / "runs", help="tokens, checkpoints")
    parser.add_argument("--output", type=Path, default=HERE.parent / "target", help="the export")
    parser.add_argument("--checkpoint", choices=["last", "best"], default="last", help="to export")
    parser.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    options = parser.parse_args()

    size = SIZES[options.size]
    if options.tokens:
        size = replace(size, recipe=replace(size.recipe, tokens=options.tokens))
    work = stages.Workspace(
        size,
        options.corpus,
        options.runs,
        options.output,
        choose_device(options.device),
        options.checkpoint,
    )
    for stage in options.stages:
        if stage == "train":
            stages.run_train(work, options.stop_after)
        else:
            runs[stage](work)


if __name__ == "__main__":
    main()
