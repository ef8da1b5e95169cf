"""From SQL text to statements: what is asked, free of its wording."""
