"""Code that the pages share: session, model chooser, examples, and the step component."""
