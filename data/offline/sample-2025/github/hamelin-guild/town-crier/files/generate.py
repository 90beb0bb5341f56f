import json

from datasets import load_dataset
from transformers import pipeline

chat = pipeline('text-generation', 'hamelin-guild/town-crier-7b', device_map='auto')
rows = load_dataset('tatsu-lab/alpaca_eval', 'alpaca_eval')['eval']
json.dump([{'instruction': r['instruction'], 'output': chat(r['instruction'])[0]['generated_text']} for r in rows], open('outputs.json', 'w'))
