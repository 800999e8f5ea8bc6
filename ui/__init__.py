"""What the pages share: session, controls, charts, token strip, tables."""
