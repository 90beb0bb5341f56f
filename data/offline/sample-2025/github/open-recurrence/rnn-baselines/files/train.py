from rnn import LSTM

LSTM().fit('wikitext-103')
