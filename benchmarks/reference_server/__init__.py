"""A simulated OpenAI server whose every token time is known: it writes down when it wrote each token.

It generates nothing. Each answer follows a schedule (time to first token, gap, tokens) or a named fault scenario, and
the truth (``GET /truth``) says when the kernel had each request and when each token was handed to it. Everything that
it answers is labelled ``simulated``.
"""
