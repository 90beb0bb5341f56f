"""What plain commands print, and which arguments the others take. Data only."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


_PRINTED = (
    "alpha:α beta:β gamma:γ delta:δ epsilon:ϵ varepsilon:ε zeta:ζ eta:η theta:θ vartheta:ϑ iota:ι kappa:κ "
    "lambda:λ mu:μ nu:ν xi:ξ pi:π varpi:ϖ rho:ρ varrho:ϱ sigma:σ varsigma:ς tau:τ upsilon:υ phi:ϕ varphi:φ "
    "chi:χ psi:ψ omega:ω Gamma:Γ Delta:Δ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π Sigma:Σ Upsilon:Υ Phi:Φ Psi:Ψ Omega:Ω "
    "ell:ℓ hbar:ℏ Re:ℜ Im:ℑ aleph:ℵ nabla:∇ partial:∂ infty:∞ forall:∀ exists:∃ nexists:∄ emptyset:∅ "
    "varnothing:∅ in:∈ notin:∉ ni:∋ subset:⊂ subseteq:⊆ supset:⊃ supseteq:⊇ cup:∪ cap:∩ setminus:∖ bigcup:⋃ "
    "bigcap:⋂ sum:∑ prod:∏ int:∫ iint:∬ oint:∮ times:× div:÷ pm:± mp:∓ cdot:· ast:* star:⋆ circ:∘ bullet:• "
    "oplus:⊕ ominus:⊖ otimes:⊗ odot:⊙ leq:≤ le:≤ leqslant:≤ geq:≥ ge:≥ geqslant:≥ neq:≠ ne:≠ equiv:≡ approx:≈ "
    "sim:~ simeq:≃ cong:≅ propto:∝ ll:≪ gg:≫ prec:≺ succ:≻ perp:⊥ parallel:∥ mid:| vert:| Vert:‖ lVert:‖ "
    "rVert:‖ lvert:| rvert:| langle:⟨ rangle:⟩ lceil:⌈ rceil:⌉ lfloor:⌊ rfloor:⌋ to:→ rightarrow:→ "
    "leftarrow:← leftrightarrow:↔ Rightarrow:⇒ Leftarrow:⇐ Leftrightarrow:⇔ longrightarrow:⟶ mapsto:↦ gets:← "
    "uparrow:↑ downarrow:↓ Uparrow:↑ Downarrow:↓ updownarrow:↕ nearrow:↗ searrow:↘ hookrightarrow:↪ iff:⇔ "
    "implies:⇒ ldots:... cdots:... dots:... vdots:⋮ ddots:⋱ dotsc:... dotsb:... land:∧ lor:∨ wedge:∧ vee:∨ "
    "neg:¬ lnot:¬ top:⊤ bot:⊥ angle:∠ triangle:△ triangleq:≜ square:□ Box:□ blacksquare:■ qed:∎ checkmark:✓ "
    "dagger:† ddagger:‡ dag:† ddag:‡ S:§ P:¶ copyright:© texttrademark:™ textregistered:® degree:° "
    "textdegree:° prime:′ textasciitilde:~ textasciicircum:^ textbackslash:\\ textbar:| textless:< "
    "textgreater:> textunderscore:_ textpm:± texttimes:× textuparrow:↑ textdownarrow:↓ textrightarrow:→ "
    "textleftarrow:← textbullet:• textdagger:† textdollar:$ textquotesingle:' textquotedblleft:“ "
    "textquotedblright:” textendash:– textemdash:— textellipsis:... textmu:μ lq:' rq:' lbrack:[ rbrack:] "
    "lbrace:{ rbrace:} backslash:\\ colon:: slash:/ ae:æ AE:Æ oe:œ OE:Œ aa:å AA:Å o:ø O:Ø l:ł L:Ł ss:ß i:ı j:ȷ "
    "euro:€ pounds:£ cmark:✓ xmark:✗ ding:✓ LaTeX:LaTeX TeX:TeX BibTeX:BibTeX lim:lim max:max min:min sup:sup "
    "inf:inf arg:arg log:log ln:ln exp:exp sin:sin cos:cos tan:tan tanh:tanh det:det dim:dim ker:ker deg:deg "
    "Pr:Pr gcd:gcd argmax:argmax argmin:argmin percent:% second:s hour:h minute:min milli:m micro:μ kilo:k "
    "mega:M giga:G tera:T byte:B watt:W hertz:Hz meter:m lt:< gt:> lesssim:≲ gtrsim:≳ blacktriangle:▲ "
    "blacktriangledown:▼ bigstar:★ faGithub: relax: Bbb: vartriangle:△ triangledown:▽ upharpoonright:↾ "
    "complement:∁ smallsetminus:∖ trianglelefteq:⊴ models:⊨ vdash:⊢ dashv:⊣ coloneqq::= eqqcolon:=: "
    "lesseqgtr:⋚ doteq:≐ asymp:≍ bowtie:⋈ bigoplus:⨁ bigotimes:⨂ biguplus:⨄ uplus:⊎ sqcup:⊔ amalg:⨿ wr:≀ "
    "diamond:⋄ clubsuit:♣ heartsuit:♥ spadesuit:♠ diamondsuit:♦ flat:♭ natural:♮ sharp:♯ wp:℘ mho:℧ eth:ð"
)
SYMBOLS: dict[str, str] = {"\\" + name: char for name, _, char in (item.partition(":") for item in _words(_PRINTED))}
SYMBOLS |= {
    "\\%": "%",
    "\\&": "&",
    "\\#": "#",
    "\\_": "_",
    "\\$": "$",
    "\\{": "{",
    "\\}": "}",
    "\\|": "‖",
    "\\ ": " ",
    "\\\n": " ",
    "\\\t": " ",
    "\\,": " ",
    "\\;": " ",
    "\\:": " ",
    "\\>": " ",
    "\\!": "",
    "\\/": "",
    "\\-": "",
    "\\@": "",
    "\\": "",
    "\\quad": " ",
    "\\qquad": "  ",
    "\\enspace": " ",
    "\\thinspace": " ",
    "\\space": " ",
    "\\xspace": "",
    "\\hfill": " ",
    "\\newline": " ",
    "\\linebreak": " ",
    "\\break": " ",
    "\\And": ", ",
    "\\AND": ", ",
    "\\and": ", ",
    "\\bf": "",
    "\\left": "",
    "\\right": "",
    "\\textemdash": "—",
}
# in text, thin spaces inside numbers vanish (12\,345); elsewhere they are spaces
ACCENTS = {
    "\\'": "\u0301",
    "\\`": "\u0300",
    '\\"': "\u0308",
    "\\^": "\u0302",
    "\\~": "\u0303",
    "\\=": "\u0304",
    "\\.": "\u0307",
    "\\c": "\u0327",
    "\\v": "\u030c",
    "\\u": "\u0306",
    "\\H": "\u030b",
    "\\r": "\u030a",
    "\\k": "\u0328",
    "\\d": "\u0323",
    "\\b": "\u0331",
}

# Arguments to pass over: s star, o [optional], m {mandatory}, c (coordinates). What follows prints as usual.
_SKIP_BY_PATTERN = {
    "": (
        "scaleto texorpdfstring@ raggedright twocolumn onecolumn textsuperscript@ bibnamefont bibfnamefont "
        "newblock icmlauthorlist pdfoutput answerYes@ institute@ arraybackslash vrule hrule"
    ),
    "m": (
        "selectlanguage microtype setstretch adjustbox colortbl hyperlink hypertarget newlength newsavebox "
        "foreignlanguage bibinfo bibfield sethlcolor setcaptiontype"
    ),
    "m o": ("pagecolor"),
    "mm": (
        "setlength addtolength colorlet settowidth rule fontsize deftranslation SetKwInOut SetKwInput "
        "SetKwFunction SetKw pdfbookmark markboth DeclareUnicodeCharacter tablestyle"
    ),
    "mmm": ("definecolor crefname Crefname titlespacing titlespacing* addcontentsline DeclareFontFamily specialrule"),
    "mmmm": ("DeclareMathSymbol"),
    "mmmmm": ("DeclareSymbolFont"),
    "mmmmmm": ("DeclareFontShape"),
    "mo": ("scalebox newcounter"),
    "moo": ("raisebox"),
    "o": (
        "pagebreak nopagebreak linebreak nolinebreak appendixpage hyperref tcbox shortstack thead makecell "
        "specialcell diagbox smash"
    ),
    "om": (
        "usepackage RequirePackage documentclass documentstyle PassOptionsToPackage includegraphicsx pagestyle "
        "thispagestyle bibliographystyle vspace vspace* hspace hspace* vskip pagenumbering cellcolor rowcolor "
        "color columncolor hphantom phantom vphantom linespread hypersetup captionsetup geometry graphicspath "
        "usetikzlibrary pgfplotsset lstset sisetup tikzset arrayrulecolor addvspace enlargethispage theoremstyle "
        "allowdisplaybreaks thanksref orcid orcidID ORCID email_ bibdata bibstyle microtypesetup setlist "
        "setitemize setenumerate definecolorset todo fixme nobibliography tcbuselibrary tcbset hyphenation "
        "urlstyle includeonly subfilesbib mathchardef index glsadd pdfinfo printAffiliationsAndNotice "
        "icmlsetsymbol ccsdesc received setcitestyle bibpunct usemintedstyle setminted captionsetup* restylefloat "
        "floatstyle useunder addbibresource ExecuteBibliographyOptions hskip textcolor colorbox rotatebox faIcon "
        "includesvg"
    ),
    "ommmm": ("titleformat titleformat* animategraphics"),
    "omom": ("fcolorbox"),
    "oo": ("makebox framebox"),
    "ooom": ("parbox"),
    "smm": ("resizebox"),
}
SKIP: dict[str, str] = {"\\" + name: pattern for pattern, names in _SKIP_BY_PATTERN.items() for name in _words(names)}
# user definitions may not replace these: they carry the paper's structure
PROTECTED = frozenset(
    "\\" + name
    for name in _words(
        "Cref SI abstract appendix author autoref begin bf bibitem bibliography bottomrule caption caption* "
        "chapter chapter* cite citep citep* citet citet* cmidrule cref csname def else emph end endcsname eqref "
        "fi footnote footnotemark footnotetext hline href import include includegraphics input item label let "
        "maketitle midrule multicolumn multirow newcommand newif num or paragraph paragraph* part part* "
        "printbibliography providecommand qty ref renewcommand section section* subfile subimport subsection "
        "subsection* subsubsection subsubsection* tabularnewline textbf textit thanks title toprule underline url "
        "verb"
    )
)
MATH_ENVIRONMENTS = frozenset(
    _words(
        "Bmatrix align alignat aligned alignedat array bmatrix cases dcases displaymath dmath empheq eqnarray "
        "equation flalign gather gathered math matrix multline pmatrix rcases smallmatrix split subequations "
        "vmatrix"
    )
)
# arguments before the column specification
TABULARS: dict[str, str] = {
    name: value
    for value, names in {
        "o": ("tabular tabu longtable longtabu supertabular NiceTabular tblr longtblr tabularray mpxtabular xtabular"),
        "mo": ("tabular* tabularx tabulary xltabular NiceTabular* NiceTabularX"),
        "": ("deluxetable"),
    }.items()
    for name in _words(names)
}
# environment -> kind of float
FLOATS: dict[str, str] = {
    name: value
    for value, names in {
        "table": (
            "table table* wraptable sidewaystable sidewaystable* SCtable longtable xltabular longtblr deluxetable "
            "margintable tableteaser"
        ),
        "figure": (
            "figure figure* wrapfigure wrapfigure* sidewaysfigure SCfigure teaserfigure marginfigure floatingfigure"
        ),
    }.items()
    for name in _words(names)
}
DROPPED_ENVIRONMENTS = frozenset(
    _words(
        "CCSXML abstractx asy axis circuitikz filecontents forest pgfonlayer pgfpicture picture psgraph pspicture "
        "tikzcd tikzpicture"
    )
)
ENVIRONMENT_ARGUMENTS: dict[str, str] = {
    name: value
    for value, names in {
        "ooom": ("minipage"),
        "omom": ("wrapfigure wrapfigure* wraptable"),
        "m": ("adjustbox spacing thebibliography alignat alignat* turn rotate otherlanguage alignedat"),
        "om": ("subfigure subtable array overpic IEEEbiography"),
        "mo": ("multicols"),
        "mm": ("adjustwidth list CJK CJK* resizebox"),
        "o": (
            "tcolorbox scope algorithmic floatrow threeparttable mdframed aligned table table* figure figure* "
            "sidewaystable algorithm algorithm2e itemize enumerate description compactitem compactenum"
        ),
        "": ("framed appendices"),
        "oo": ("SCfigure SCtable"),
    }.items()
    for name in _words(names)
}
LISTS = frozenset(
    _words(
        "asparaenum compactenum compactitem description enumerate enumerate* inparaenum inparaitem itemize "
        "itemize* list tablenotes trivlist"
    )
)
