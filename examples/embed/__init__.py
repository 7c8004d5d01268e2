"""Sentence embeddings with all-MiniLM-L6-v2, a BERT of six layers (`make embed`).

model_files.py     finds the weights and the tokenizer, makes tokens of sentences
numpy_encoder.py   the encoder in plain NumPy, to check against
relax_encoder.py   the encoder in Relax, with symbolic batch and sequence length
embed.py           compiles it, embeds sentences.txt, prints each sentence's nearest neighbour
"""
