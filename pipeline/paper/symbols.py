"""What plain commands print, and which arguments the others take. Data only."""

from __future__ import annotations

_GREEK = (
    "alpha:α beta:β gamma:γ delta:δ epsilon:ϵ varepsilon:ε zeta:ζ eta:η theta:θ vartheta:ϑ iota:ι kappa:κ lambda:λ mu:μ nu:ν "
    "xi:ξ pi:π varpi:ϖ rho:ρ varrho:ϱ sigma:σ varsigma:ς tau:τ upsilon:υ phi:ϕ varphi:φ chi:χ psi:ψ omega:ω Gamma:Γ Delta:Δ "
    "Theta:Θ Lambda:Λ Xi:Ξ Pi:Π Sigma:Σ Upsilon:Υ Phi:Φ Psi:Ψ Omega:Ω ell:ℓ hbar:ℏ Re:ℜ Im:ℑ aleph:ℵ nabla:∇ partial:∂ infty:∞ "
    "forall:∀ exists:∃ nexists:∄ emptyset:∅ varnothing:∅ in:∈ notin:∉ ni:∋ subset:⊂ subseteq:⊆ supset:⊃ supseteq:⊇ cup:∪ cap:∩ "
    "setminus:∖ bigcup:⋃ bigcap:⋂ sum:∑ prod:∏ int:∫ iint:∬ oint:∮ times:× div:÷ pm:± mp:∓ cdot:· ast:* star:⋆ circ:∘ bullet:• "
    "oplus:⊕ ominus:⊖ otimes:⊗ odot:⊙ leq:≤ le:≤ leqslant:≤ geq:≥ ge:≥ geqslant:≥ neq:≠ ne:≠ equiv:≡ approx:≈ sim:~ simeq:≃ "
    "cong:≅ propto:∝ ll:≪ gg:≫ prec:≺ succ:≻ perp:⊥ parallel:∥ mid:| vert:| Vert:‖ lVert:‖ rVert:‖ lvert:| rvert:| langle:⟨ "
    "rangle:⟩ lceil:⌈ rceil:⌉ lfloor:⌊ rfloor:⌋ to:→ rightarrow:→ leftarrow:← leftrightarrow:↔ Rightarrow:⇒ Leftarrow:⇐ "
    "Leftrightarrow:⇔ longrightarrow:⟶ mapsto:↦ gets:← uparrow:↑ downarrow:↓ Uparrow:↑ Downarrow:↓ updownarrow:↕ nearrow:↗ "
    "searrow:↘ hookrightarrow:↪ iff:⇔ implies:⇒ ldots:... cdots:... dots:... vdots:⋮ ddots:⋱ dotsc:... dotsb:... land:∧ lor:∨ "
    "wedge:∧ vee:∨ neg:¬ lnot:¬ top:⊤ bot:⊥ angle:∠ triangle:△ triangleq:≜ square:□ Box:□ blacksquare:■ qed:∎ checkmark:✓ "
    "dagger:† ddagger:‡ dag:† ddag:‡ S:§ P:¶ copyright:© texttrademark:™ textregistered:® degree:° textdegree:° prime:′ "
    "textasciitilde:~ textasciicircum:^ textbackslash:\\ textbar:| textless:< textgreater:> textunderscore:_ textpm:± "
    "texttimes:× textuparrow:↑ textdownarrow:↓ textrightarrow:→ textleftarrow:← textbullet:• textdagger:† textdollar:$ "
    "textquotesingle:' textquotedblleft:“ textquotedblright:” textendash:– textemdash:— textellipsis:... textmu:μ lq:' rq:' "
    "lbrack:[ rbrack:] lbrace:{ rbrace:} backslash:\\ colon:: slash:/ ae:æ AE:Æ oe:œ OE:Œ aa:å AA:Å o:ø O:Ø l:ł L:Ł ss:ß i:ı j:ȷ "
    "euro:€ pounds:£ cmark:✓ xmark:✗ ding:✓ LaTeX:LaTeX TeX:TeX BibTeX:BibTeX lim:lim max:max min:min sup:sup inf:inf arg:arg "
    "log:log ln:ln exp:exp sin:sin cos:cos tan:tan tanh:tanh det:det dim:dim ker:ker deg:deg Pr:Pr gcd:gcd argmax:argmax "
    "argmin:argmin percent:% second:s hour:h minute:min milli:m micro:μ kilo:k mega:M giga:G tera:T byte:B watt:W hertz:Hz meter:m "
    "lt:< gt:> lesssim:≲ gtrsim:≳ blacktriangle:▲ blacktriangledown:▼ bigstar:★ faGithub: relax: Bbb: vartriangle:△ "
    "triangledown:▽ upharpoonright:↾ complement:∁ smallsetminus:∖ trianglelefteq:⊴ models:⊨ vdash:⊢ dashv:⊣ coloneqq::= "
    "eqqcolon:=: lesseqgtr:⋚ doteq:≐ asymp:≍ bowtie:⋈ bigoplus:⨁ bigotimes:⨂ biguplus:⨄ uplus:⊎ sqcup:⊔ amalg:⨿ wr:≀ diamond:⋄ "
    "clubsuit:♣ heartsuit:♥ spadesuit:♠ diamondsuit:♦ flat:♭ natural:♮ sharp:♯ wp:℘ mho:℧ eth:ð"
)
SYMBOLS: dict[str, str] = {"\\" + name: char for name, _, char in (item.partition(":") for item in _GREEK.split())}
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
SKIP: dict[str, str] = {
    "\\" + name: pattern
    for pattern, names in {
        "om": ["usepackage", "RequirePackage", "documentclass", "documentstyle", "PassOptionsToPackage", "includegraphicsx", "pagestyle", "thispagestyle", "bibliographystyle", "vspace", "vspace*", "hspace", "hspace*", "vskip", "pagenumbering", "cellcolor", "rowcolor", "color", "columncolor", "hphantom", "phantom", "vphantom", "linespread", "hypersetup", "captionsetup", "geometry", "graphicspath", "usetikzlibrary", "pgfplotsset", "lstset", "sisetup", "tikzset", "arrayrulecolor", "addvspace", "enlargethispage", "theoremstyle", "allowdisplaybreaks", "thanksref", "orcid", "orcidID", "ORCID", "email_", "bibdata", "bibstyle", "gdef@", "microtypesetup", "setlist", "setitemize", "setenumerate", "definecolorset", "colorlet@", "todo", "fixme", "nobibliography", "crefname@", "tcbuselibrary", "tcbset", "hyphenation", "urlstyle", "fontsize@", "includeonly", "subfilesbib", "mathchardef", "index", "glsadd", "pdfinfo", "address@", "printAffiliationsAndNotice", "icmlsetsymbol", "icmlcorrespondingauthor@", "ccsdesc", "received", "setcitestyle", "bibpunct", "pdfbookmark@", "usemintedstyle", "setminted", "captionsetup*", "Crefname@", "DeclareCaptionStyle@", "restylefloat", "floatstyle", "useunder", "addbibresource", "ExecuteBibliographyOptions", "hskip"],
        "m": ["textcolor@", "label@", "rule@", "hspace@", "selectlanguage", "microtype", "setstretch"],
        "mm": ["setlength", "addtolength", "definecolor@", "colorlet", "Crefname@@", "settowidth", "newlength@", "rule", "fontsize", "newtheorem@@", "setcounter@@", "addtocounter@@", "stepcounter@@", "deftranslation", "SetKwInOut", "SetKwInput", "SetKwFunction", "SetKw", "pdfbookmark", "markboth", "setmainfont@", "specialrule@", "DeclareUnicodeCharacter", "SetSymbolFont@", "graphicsextensions@", "titlespacing@"],
        "mmm": ["definecolor", "crefname", "Crefname", "titlespacing", "titlespacing*", "addcontentsline", "DeclareFontFamily", "ifdim@", "specialrule", "icmlauthor@", "icmlaffiliation@", "algrenewcommand@"],
        "m o": ["pagecolor"],
        "oom": ["adjustbox@"],
        "omm": ["icmlaffiliation@@"],
        "mmo": [],
        "om m": [],
        "ommmm": ["titleformat", "titleformat*"],
        "mmmm": ["SetMathAlphabet@", "DeclareMathSymbol", "DeclareSymbolFont@"],
        "mmmmm": ["DeclareSymbolFont"],
        "mmmmmm": ["DeclareFontShape"],
        "oo": ["linebreak@", "hline@"],
        "o": ["centering@", "item@", "pagebreak", "nopagebreak", "linebreak", "nolinebreak", "toprule@", "appendixpage"],
        "cm": ["cline@"],
        "col": [],
        "textcolor": [],
    }.items()
    if pattern.strip("omcs ") == ""
    for name in names
    if "@" not in name
}
# skip the leading arguments, print the last one
SKIP |= {
    "\\textcolor": "om",
    "\\colorbox": "om",
    "\\fcolorbox": "omom",
    "\\resizebox": "smm",
    "\\scalebox": "mo",
    "\\rotatebox": "om",
    "\\raisebox": "moo",
    "\\makebox": "oo",
    "\\framebox": "oo",
    "\\parbox": "ooom",
    "\\adjustbox": "m",
    "\\scaleto": "",
    "\\colortbl": "m",
    "\\hyperref": "o",
    "\\hyperlink": "m",
    "\\hypertarget": "m",
    "\\texorpdfstring@": "",
    "\\fontsize": "mm",
    "\\newlength": "m",
    "\\newsavebox": "m",
    "\\newcounter": "mo",
    "\\raggedright": "",
    "\\twocolumn": "",
    "\\onecolumn": "",
    "\\foreignlanguage": "m",
    "\\textsuperscript@": "",
    "\\tcbox": "o",
    "\\shortstack": "o",
    "\\thead": "o",
    "\\makecell": "o",
    "\\specialcell": "o",
    "\\diagbox": "o",
    "\\bibinfo": "m",
    "\\bibfield": "m",
    "\\bibnamefont": "",
    "\\bibfnamefont": "",
    "\\newblock": "",
    "\\icmlauthorlist": "",
    "\\pdfoutput": "",
    "\\smash": "o",
    "\\sethlcolor": "m",
    "\\answerYes@": "",
    "\\institute@": "",
    "\\tablestyle": "mm",
    "\\setcaptiontype": "m",
    "\\arraybackslash": "",
    "\\vrule": "",
    "\\hrule": "",
    "\\faIcon": "om",
    "\\includesvg": "om",
    "\\animategraphics": "ommmm",
}
# user definitions may not replace these: they carry the paper's structure
PROTECTED = frozenset(
    "\\" + name
    for name in ["section", "section*", "subsection", "subsection*", "subsubsection", "subsubsection*", "paragraph", "paragraph*", "chapter", "chapter*", "part", "part*", "input", "include", "import", "subimport", "subfile", "caption", "caption*", "footnote", "footnotetext", "footnotemark", "url", "href", "cite", "citep", "citet", "citep*", "citet*", "ref", "eqref", "autoref", "cref", "Cref", "label", "title", "author", "thanks", "begin", "end", "multirow", "multicolumn", "includegraphics", "item", "bibitem", "textbf", "textit", "emph", "maketitle", "appendix", "bibliography", "printbibliography", "newcommand", "renewcommand", "providecommand", "def", "let", "abstract", "verb", "underline", "num", "SI", "qty", "midrule", "toprule", "bottomrule", "hline", "cmidrule", "fi", "else", "or", "newif", "csname", "endcsname", "bf", "tabularnewline"]
)
MATH_ENVIRONMENTS = frozenset(
    ["equation", "align", "gather", "multline", "eqnarray", "alignat", "flalign", "math", "displaymath", "dmath", "split", "aligned", "gathered", "array", "cases", "matrix", "pmatrix", "bmatrix", "vmatrix", "Bmatrix", "smallmatrix", "subequations", "dcases", "rcases", "alignedat", "empheq"]
)
TABULARS: dict[str, str] = {  # arguments before the column specification
    "tabular": "o",
    "tabular*": "mo",
    "tabularx": "mo",
    "tabulary": "mo",
    "tabu": "o",
    "longtable": "o",
    "longtabu": "o",
    "supertabular": "o",
    "xltabular": "mo",
    "NiceTabular": "o",
    "NiceTabular*": "mo",
    "NiceTabularX": "mo",
    "tblr": "o",
    "longtblr": "o",
    "tabularray": "o",
    "deluxetable": "",
    "mpxtabular": "o",
    "xtabular": "o",
}
FLOATS = {
    "table": "table",
    "table*": "table",
    "wraptable": "table",
    "sidewaystable": "table",
    "sidewaystable*": "table",
    "SCtable": "table",
    "longtable": "table",
    "xltabular": "table",
    "longtblr": "table",
    "deluxetable": "table",
    "figure": "figure",
    "figure*": "figure",
    "wrapfigure": "figure",
    "wrapfigure*": "figure",
    "sidewaysfigure": "figure",
    "SCfigure": "figure",
    "teaserfigure": "figure",
    "marginfigure": "figure",
    "margintable": "table",
    "floatingfigure": "figure",
    "strip": "",
    "tableteaser": "table",
}
DROPPED_ENVIRONMENTS = frozenset(
    ["tikzpicture", "pgfpicture", "axis", "pspicture", "picture", "CCSXML", "tikzcd", "circuitikz", "forest", "filecontents", "asy", "psgraph", "abstractx", "pgfonlayer", "overpic@"]
)
ENVIRONMENT_ARGUMENTS: dict[str, str] = {
    "minipage": "ooom",
    "wrapfigure": "omom",
    "wrapfigure*": "omom",
    "wraptable": "omom",
    "adjustbox": "m",
    "subfigure": "om",
    "subtable": "om",
    "multicols": "mo",
    "adjustwidth": "mm",
    "tcolorbox": "o",
    "spacing": "m",
    "thebibliography": "m",
    "list": "mm",
    "alignat": "m",
    "alignat*": "m",
    "array": "om",
    "turn": "m",
    "rotate": "m",
    "scope": "o",
    "overpic": "om",
    "IEEEbiography": "om",
    "CJK": "mm",
    "CJK*": "mm",
    "algorithmic": "o",
    "floatrow": "o",
    "threeparttable": "o",
    "resizebox": "mm",
    "mdframed": "o",
    "framed": "",
    "otherlanguage": "m",
    "alignedat": "m",
    "aligned": "o",
    "table": "o",
    "table*": "o",
    "figure": "o",
    "figure*": "o",
    "sidewaystable": "o",
    "algorithm": "o",
    "algorithm2e": "o",
    "itemize": "o",
    "enumerate": "o",
    "description": "o",
    "compactitem": "o",
    "compactenum": "o",
    "appendices": "",
    "SCfigure": "oo",
    "SCtable": "oo",
}
LISTS = frozenset(
    ["itemize", "enumerate", "description", "compactitem", "compactenum", "inparaenum", "inparaitem", "itemize*", "enumerate*", "tablenotes", "asparaenum", "trivlist", "list"]
)
