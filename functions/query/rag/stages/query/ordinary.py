"""Short English words and names that acronyms are often spelt like: in their own case they are not the acronym."""

from __future__ import annotations

_NAMES = """
al ali amy ann art ben bob cal dan deb don ed eva eve fay gus guy hal ian ida ivy jan jim joe jon kay ken kim lee leo
liz lou mac mae mat max meg mel mia ned pam pat ray rex rob rod ron roy sal sam sid sue tad ted tim tom tony val van
vic wes zoe ruby rose grace hope
"""
_WORDS = """
a able about above ace ache acid act ad add after again age aged agree ah aid aide aim air alarm ale alert all
alone also am amber among an and angel angle ant any ape app apple apt arc arch are area arm army art as ash ask at
ate atlas atom aunt auto away awe axe
baby back bad bag bail bake ball ban band bang bank bar barn base basic bat bath bay be beach beam bean bear beat
bed bee been beer bell belt bench best bet big bill bin bird bit bite blog blue board boat body bold bolt bomb bond
bone book boom boost boot boss both bow bowl box boy brand brave bread brick bridge bright broad bud bug build bulk
bull bump bus bush but buy by
cab cafe cage cake call calm came camp can cap cape car card care cargo carry cart case cash cast cat cave cell
cent chain chair champ chance charm chart chat check chef chip choice circle city claim clap class clean clear
click climate clip clock close cloud club clue coal coast coat cob cod code coin cold comb come compass cone cook
cool cop cope copy cord core corn cost could count court cover cow cozy craft crane credit crew crisp crop cross
crow crowd crown cry cub cube cue cup cure cut cycle
dad dam damp dare dark dart dash data date dawn day dead deal dean dear debt deck deep deer den desk dew dial dice
did die diet dig dim dip dirt disc dish dive do dock does dog doll dome done door dot dove down draft drag drama
draw dream dress drip drive drop drum dry dub duck due dug dump dune duo dusk dust duty
each ear early earn earth ease east easy eat echo edge edit egg ego eight elder elf elm else end ensure enter epic
era even event ever every exam exit eye
face fact fad fade fair faith fall fame fan far farm fast fat fate fax fear feast fed fee feed feel feet fell felt
fig file fill film find fine fir fire firm first fish fit five fix flag flame flash flat flea fleet flex flip flow
fly foam focus fog fold folk food foot for force fork form fort forum foul four fox frame free fresh frog from
front fuel full fun fund fur fuse future
gain gal gallery game gap garden gas gate gear gel gem get gift gig girl give glad glass global globe glow glue go
goal goat god gold golf good got grace grade grain grand grant graph grass great green grid grip grit group grow
guide gum gun gut guy gym
had hair half hall halo ham hand hang hard harm harp has hat have hawk hay he head heal heap hear heart heat help
hen her herb here hero hi hid hide high hike hill him hint hip hire his hit hive hobby hold hole home honor hood
hook hop hope horn horse host hot hour house how hub hug hull human hunt hurt hut
i ice icon idea if ill image impact in inch ink inn into ion iris iron is island issue it item its ivory
jam jar jaw jazz jet jewel job join joint joke joy judge juice jump junior just
keen keep key kick kid kin kind king kit kite knee knot know
lab label lace lack lad lady lake lamb lamp land lane large laser last late law lawn lay lead leaf league lean leap
learn led left leg lens less let level lid lie life lift light like lime line link lion lip list lit live load loan
local lock log logic long look loop lord lose lot loud love low loyal luck lunch lung
mad made magic magnet mail main make male mall man many map march mark mars mask mass mat match mate math matrix
may maze me meal mean meat media meet melt memo men menu mesh met metal meter mice mid might mild mile milk mill
mind mine mint mirror miss mist mix mob mode model mom money month mood moon more moss most motion mouse move much
mud mule must my myth
nail name nap nation native near neat neck need nerd nest net new news next nice night nine no node none nor north
nose not note nova now nut
oak oasis oath ocean odd of off offer office often oil old olive on once one only open optic option or oral orange
orb orbit order ore other our out oven over own owl ox
pace pack pad page paid pain pair pal palm pan panel paper park part pass past pat path pause paw pay peace peak
pear pen people pep per pest pet phase phone photo pick pie pig pike pilot pin pine pink pipe pit place plan plane
plant plate play plot plug plum plus pod poem point pole poll pond pool poor pop port pose post pot power prep
press price pride prime print prism prize pro probe profile program project proof prop proud pub pull pulse pump
pun pure purple push put
quest quick quiet quit quiz
race rack radar radio rag rage raid rail rain raise ram ramp ran range rank rap rapid rare rat rate raw ray reach read
ready real record red reef ref relay rent rescue rest rib rice rich ride right ring rip rise risk river road roar
rob rock rocket rod role roll roof room root rope rose rot route row royal rub rug rule run rush rust
sad safe sage said sail saint sale salt same sand sap sat save saw say scale scan scope score scout sea seal search
seat second see seed seek seem self sell send sense series set seven shade shape share shark sharp she shed shell
shift shine ship shirt shoe shop short shot show shut sick side sign silver simple since sing sip sir sit site six
size skill skin skip sky slam sleep slice slide slim slip slot slow smart smile smoke snap snow so soap soar sob
social sock soft soil solar sold sole solid solve some son song soon sort soul sound soup sour source south space
spam span spare spark speak speed spell spin spirit split spoke sport spot spray spring spur spy square stack staff
stage stair stamp stand star start state station stay steam steel stem step stern stick still stone stop store
storm story stream street strength strike strong study style such suit sum summer summit sun super sure surf surge
swan sweet swift swim switch sword sync system
tab table tag tail take tale talk tall tan tank tap tape target tart task taste tax tea teach team tear tech tell
ten tent term test text than that the their them then there these they thin thing think third this those three
thrive tick tide tie tiger tight tile till time tin tint tip tire to today toe told tone too took tool top torch
total touch tour town toy trace track trade trail train tram trap tray tree trek trend trial tribe trick trim trip
true trust truth try tub tube tune turn twin two type
ugly under unit unite unity up upon urge us use used user
van vast vat verb very vest vet via view village vine visa vision visit vital voice void vote
wage wait walk wall want war ward warm was wash watch water wave wax way we weak wear web wed week well went were
west wet what wheel when where which while white who whole why wide wife wild will win wind wine wing winner winter
wire wise wish wit with wolf woman won wood word work world would wow wrap write
yard year yes yet yoga you young your youth zero zone zoo
"""

ORDINARY = frozenset((*_WORDS.split(), *_NAMES.split()))
