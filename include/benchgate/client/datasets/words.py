"""Common English words: one token each, with a leading space, in nearly every vocabulary. Calibration finds out."""

_TEXT = """
able about above across action after again against age air all almost along already also although always among amount
animal another answer any appear apple area arm army around arrive art ask attack away baby back bad ball bank base
beautiful became because become bed before began begin behind being believe below best better between big bird black
blood blue board boat body book both bottom box boy bread break bridge bright bring broken brother brought brown build
building built business busy buy call came camera camp capital car card care carry case cat catch cause cell center
century certain chair chance change character charge chief child children choose church circle city class clean clear
climb clock close cloth cloud coast coat cold color come common company complete computer condition consider contain
control cook cool copy corn corner correct cost cotton could count country course cover create cross crowd cry current
cut dance danger dark daughter day dead deal death decide deep degree depend describe desert design develop dictionary
difference different difficult direct discover distance divide doctor does dog dollar done door double doubt down draw
dream dress drink drive drop dry during duty each early earth east easy eat edge effect egg eight either electric else
empty end enemy energy engine enjoy enough enter equal even evening event ever every exact example except excite
exercise expect experience experiment explain eye face fact fair fall family famous far farm fast father favor fear
feel feet fell felt few field fight figure fill final find fine finger finish fire first fish five flat floor flow
flower fly follow food foot force foreign forest form forward found four free fresh friend from front fruit full fun
game garden gas gave general gentle girl give glad glass gold gone good got govern grand grass great green grew ground
group grow guess guide gun hair half hand happen happy hard hat have head hear heart heat heavy held help here high
hill history hit hold hole home hope horse hot hotel hour house how huge human hundred hunt hurry ice idea imagine
inch include increase indicate industry insect inside instead interest iron island job join joy jump just keep kept
key kill kind king kitchen knew know lady lake land language large last late laugh law lead learn least leave left leg
length less letter level library lie life lift light like line list listen little live local long look lost love low
machine made magic main major make man many map mark market master match material matter may mean measure meat meet
member men metal method middle might mile milk million mind minute miss modern moment money month moon morning most
mother motion mountain mouth move much music must name nation natural nature near necessary neck need never new next
night nine noise north nose note nothing notice noun now number object observe ocean offer office often oil old once
one only open operate opposite orange order other our out over own oxygen page paint pair paper parent part particular
party pass past path pattern pay peace people perhaps period person phrase pick picture piece place plain plan plane
planet plant play please point poor popular population port position possible post pound power practice prepare
present president press pretty print private probable problem process produce product program proper protect prove
provide public pull push put quart question quick quiet quite race radio rain raise ran range rate rather reach read
ready real reason receive record red region remember repeat reply report require rest result rich ride right ring rise
river road rock roll room root rope rose round rule run safe sail salt same sand save say school science score sea
search season seat second secret section see seed seem select self sell send sense sent sentence separate serve set
settle seven several shall shape share sharp she sheet ship shirt shoe shop short should shoulder shout show side
sight sign silent silver similar simple since sing sister sit six size skill skin sky sleep slip slow small smell
smile smoke smooth snow social soft soil soldier solution solve some son song soon sound south space speak special
speech speed spell spend spoke spot spread spring square stand star start state station stay steam steel step still
stone stood stop store story straight strange stream street strong student study subject substance success such sudden
sugar suggest summer sun supply support sure surface surprise swim system table tail take talk tall teach team tell
ten term test thank that their them then there these they thick thin thing think third this those though thought
thousand three through throw tie time tiny tire today together told tone too took tool top total touch toward town
track trade train travel tree triangle trip trouble truck true trust try turn twenty two type under unit until use
usual valley value very view village visit voice vote wait walk wall want war warm wash watch water wave way wear
weather week weight well went west what wheel when where whether which while white whole whose why wide wife wild will
wind window wing winter wire wish with without woman women wonder wood word work world worth would write written wrong
yard year yellow yes yet you young
"""

WORDS: tuple[str, ...] = tuple(_TEXT.split())
