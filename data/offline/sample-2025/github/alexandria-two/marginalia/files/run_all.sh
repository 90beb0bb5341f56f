for t in narrativeqa qasper multifieldqa_en hotpotqa 2wikimqa musique gov_report; do
  python evaluate.py --subset $t
done
