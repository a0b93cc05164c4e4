"""The model that is trained: an encoder of one LSTM in one or both directions, a decoder of one
LSTM, and any attention between them.
"""
