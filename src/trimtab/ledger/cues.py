"""Words by which a sentence shows that it binds, in the languages that people write.

Cues order what was said; they never decide alone what is kept. Phrases are
lower case with plain apostrophes, several words with one blank between them.
Scripts without blanks, and languages that hang endings on words, are matched
as parts of words (:data:`PARTS`).
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["MANNERS", "PARTS", "PHRASES", "SMALL_TALK", "STARTS", "TASKS", "Cue"]


class Cue(IntEnum):
    """What a cue says."""

    FORBIDS = 1
    LASTS = 2
    BINDS = 3
    PREFERS = 4
    DECIDES = 5
    DENIES = 6
    ANSWERS = 7
    NOW = 8
    RETRACTS = 9
    PERMITS = 10


_PHRASES: dict[Cue, tuple[str, ...]] = {
    Cue.FORBIDS: (
        # English
        "never|don't|do not|dont|must not|mustn't|should not|shouldn't|may not|not allowed|forbidden|prohibited"
        "|off limits|off-limits|avoid|refrain|under no circumstances|without asking|without approval"
        "|without permission|without my|without explicit|hands off|nobody else|keep away|stay away|do never|no one",
        # German, Dutch
        "niemals|nie|auf keinen fall|keinesfalls|verboten|darfst|darf nicht|vermeide|vermeiden|ohne rückfrage"
        "|ohne zu fragen|lass die finger|unter keinen umständen",
        "nooit|verboden|vermijd|zonder te vragen|mag niet|in geen geval",
        # French, Spanish, Portuguese, Italian
        "jamais|évite|évitez|éviter|interdit|interdite|sans demander|en aucun cas|sous aucun prétexte",
        "nunca|jamás|evita|evite|evitar|prohibido|sin preguntar|en ningún caso|bajo ningún concepto",
        "jamais|proibido|sem perguntar|em hipótese alguma|de forma alguma",
        "mai|evitare|vietato|senza chiedere|in nessun caso",
        # Polish, Russian, Turkish
        "nigdy|unikaj|zabronione|zabronion|bez pytania|w żadnym wypadku|nie wolno",
        "никогда|нельзя|запрещено|запрещается|избегай|избегайте|без спроса|без разрешения|ни в коем случае",
        "asla|sakın|yasak|hiçbir zaman|sormadan|kesinlikle",
        # Arabic, Hindi
        "أبدا|أبدًا|ممنوع|تجنب|لا تقم|يمنع",
        "कभी नहीं|मत|न करें|ना करें|बिना पूछे|कभी भी",
    ),
    Cue.LASTS: (
        "always|every|each time|whenever|from now on|from here on|for the rest of|going forward|henceforth"
        "|at all times|until further notice|by default|ever|any time|anytime|in all cases|all replies"
        "|all answers|all responses|all messages|all times|in future|in the future|as a rule|each reply|each answer",
        "immer|stets|ab jetzt|ab sofort|künftig|in zukunft|jedes mal|jedesmal|für den rest|grundsätzlich|jede antwort",
        "altijd|vanaf nu|voortaan|elke keer|telkens|voor de rest",
        "toujours|désormais|dorénavant|à partir de maintenant|chaque fois|systématiquement|pour le reste|à chaque",
        "siempre|a partir de ahora|de ahora en adelante|cada vez|para el resto|por defecto",
        "sempre|a partir de agora|daqui em diante|de agora em diante|toda vez|pelo resto|por padrão",
        "d'ora in poi|da ora in poi|ogni volta|per il resto",
        "zawsze|od teraz|od tej pory|za każdym razem|domyślnie",
        "всегда|отныне|впредь|с этого момента|каждый раз|до конца",
        "her zaman|daima|bundan sonra|bundan böyle|her seferinde|şu andan itibaren",
        "دائما|دائمًا|من الآن|في كل مرة|كل مرة",
        "हमेशा|अब से|आगे से|हर बार",
    ),
    Cue.BINDS: (
        "must|required|mandatory|make sure|ensure|be sure|remember to|remember that|keep in mind|bear in mind"
        "|only|exactly|at most|at least|no more than|no less than|has to|have to|needs to|need to|should|strictly"
        "|important|crucial|essential|requirement|constraint|rule|limit|cap|capped|stick to|unless|until|required to"
        "|deadline|budget|goal|objective|priority",
        "muss|müssen|soll|sollst|sollen|nur|ausschließlich|unbedingt|stelle sicher|achte darauf|denk daran"
        "|höchstens|mindestens|wichtig|pflicht|regel|frist|ziel",
        "moet|moeten|alleen|zorg ervoor|let op|hoogstens|minstens|belangrijk|verplicht",
        "dois|doit|devez|il faut|uniquement|seulement|assure-toi|assurez-vous|veille à|veillez à|au plus|au moins"
        "|important|obligatoire|règle|objectif",
        "debe|debes|deben|tienes que|hay que|solo|sólo|solamente|únicamente|asegúrate|asegúrese|como máximo"
        "|al menos|importante|obligatorio|regla|objetivo|presupuesto|plazo",
        "deve|devem|tem que|apenas|somente|certifique-se|garanta|no máximo|pelo menos|obrigatório|regra|prazo",
        "devi|devono|bisogna|solo|soltanto|assicurati|al massimo|almeno|obbligatorio|regola|obiettivo",
        "musisz|musi|należy|tylko|wyłącznie|upewnij się|najwyżej|co najmniej|ważne|zasada|cel",
        "должен|должна|должно|должны|надо|нужно|необходимо|только|исключительно|обязательно|убедись|убедитесь"
        "|не более|не менее|важно|правило|цель",
        "gerekiyor|gerekir|zorunlu|sadece|yalnızca|emin ol|mutlaka|en fazla|en az|önemli|kural|hedef",
        "يجب|فقط|تأكد|على الأقل|على الأكثر|مهم|قاعدة|لا بد",
        "केवल|सिर्फ|सिर्फ़|सुनिश्चित करें|ज़रूरी|जरूरी|अनिवार्य|चाहिए|नियम|लक्ष्य",
    ),
    Cue.PREFERS: (
        "prefer|prefers|preferred|preference|instead of|rather than|rather|instead|not the|favor|favour|i'd like"
        "|i would like|i want|we want|user wants|would rather|opt for|i like|i don't want|i do not want|we don't want"
        "|i don't like|over|i'd rather|please use|please keep",
        "lieber|bevorzuge|bevorzugt|statt|anstatt|anstelle|ich möchte|ich will|wir wollen|ich hätte gern",
        "liever|in plaats van|ik wil|voorkeur",
        "plutôt|préfère|préférence|au lieu de|je veux|je voudrais|je préfère",
        "prefiero|preferiblemente|en lugar de|en vez de|quiero|preferencia|mejor usa",
        "prefiro|em vez de|ao invés de|quero|preferência",
        "preferisco|invece di|piuttosto|voglio|vorrei",
        "wolę|zamiast|chcę|raczej|preferuję",
        "предпочитаю|вместо|лучше|хочу|предпочтительно",
        "tercih|yerine|istiyorum",
        "أفضل|بدلا من|بدلاً من|أريد",
        "पसंद|बजाय|की जगह|चाहता|चाहती",
    ),
    Cue.DECIDES: (
        "correction|actually|i decided|we decided|i've decided|decision|decided|let's go with|go with|we agreed|agreed"
        "|update|updated|changed|changed to|moved to|moved|switched|switch to|switching to|renamed|rotated|rebased"
        "|replaced|replaces|no longer|superseded|supersedes|bumped|raised to|lowered to|extended to|postponed"
        "|change of plan|changed my mind|on second thought|new plan|we're going with|has moved|revised|effective immediately"
        "|amended|pushed back|brought forward|upgraded|migrated|retired|overrides|override|chose|we settled on",
        "korrektur|eigentlich|entschieden|beschlossen|doch|geändert|verschoben|aktualisiert|nicht mehr|umgestellt|stattdessen",
        "correctie|eigenlijk|besloten|gewijzigd|verplaatst|niet meer|toch",
        "correction|en fait|décidé|finalement|changé|déplacé|reporté|ne plus|mise à jour",
        "corrección|en realidad|decidí|decidimos|cambió|cambiado|movido|aplazado|ya no|actualización|mejor",
        "correção|na verdade|decidi|decidimos|mudou|mudamos|adiado|não mais|atualização",
        "correzione|in realtà|deciso|cambiato|spostato|rinviato|non più|aggiornamento",
        "poprawka|korekta|właściwie|zdecydowałem|zdecydowaliśmy|zmienione|przesunięty|przeniesiony|już nie|jednak",
        "поправка|исправление|на самом деле|решил|решили|изменено|изменился|перенесён|перенесен|больше не|теперь",
        "düzeltme|aslında|karar verdim|karar verdik|değişti|taşındı|ertelendi|artık",
        "تصحيح|في الواقع|قررت|قررنا|تغير|تم تغيير|لم يعد",
        "सुधार|दरअसल|असल में|तय किया|बदल|बदला|अब नहीं",
    ),
    Cue.DENIES: (
        "no|not|nothing|none|cannot|without",
        "nicht|kein|keine|keinen|keiner|keines|ohne|niet|geen|zonder",
        "pas|ne|aucun|aucune|sans|non|não|sem|ningún|ninguna|sin|nessun|nessuna|senza",
        "nie|bez|żadnych|не|без|ни|değil|olmadan|لا|بدون|दون|नहीं|बिना|न",
    ),
    Cue.ANSWERS: (
        "reply|replies|answer|answers|respond|response|responses|your output|your messages|your code|your comments"
        "|commit message|commit messages|your summary|cite|in english|in german|in french|in spanish|bullet points"
        "|tone|style|language|verbose|concise|my name|on my behalf|ask me|tell me before|show me|wait for my|confirm",
        "antworte|antworten|antwort|antwoord|antwoorden|réponds|répondez|réponse|réponses|responde|respuestas"
        "|respuesta|responda|respostas|rispondi|risposte|odpowiadaj|odpowiedzi|отвечай|отвечайте|ответы|yanıtla|cevapla"
        "|أجب|الرد|जवाब|उत्तर",
    ),
    Cue.NOW: (
        "now|as of|starting|effective|jetzt|nun|nu|maintenant|ahora|agora|adesso|teraz|şimdi|الآن|अब",
    ),
    Cue.RETRACTS: (
        "scratch that|never mind|nevermind|forget that|forget what i said|ignore that|ignore my last|cancel that"
        "|strike that|disregard that|disregard|vergiss das|vergiss es|doch nicht|oublie ça|oubliez|olvida eso"
        "|olvídalo|esquece isso|lascia perdere|vergeet dat|zapomnij o tym|забудь|unut bunu|boşver|انس ذلك|भूल जाओ",
    ),
    Cue.PERMITS: (
        "you may|you can|feel free|it's ok|it is ok|it's fine|it is fine|is fine|is ok|is okay|allowed to|no need to"
        "|don't need to|don't have to|do not need to|i approve|approved|permitted|go ahead and|not necessary"
        "|du darfst|du kannst|ist in ordnung|kein problem|tu peux|vous pouvez|puedes|pode|puoi|je mag|możesz|можешь|можно"
        "|يمكنك|आप कर सकते",
    ),
}

PHRASES: dict[tuple[str, ...], tuple[Cue, ...]] = {}
"""Words in a row, and what they say."""

for _cue, _rows in _PHRASES.items():
    for _phrase in "|".join(_rows).split("|"):
        _key = tuple(_phrase.split())
        if _cue not in PHRASES.get(_key, ()):
            PHRASES[_key] = (*PHRASES.get(_key, ()), _cue)

_PARTS: dict[Cue, str] = {
    Cue.FORBIDS: (
        "不要|别|別|勿|禁止|不得|不准|不許|不许|绝不|絕不|不能|不可|严禁|嚴禁|请勿|請勿"
        "|しないで|ないでください|ないでくだ|てはいけない|てはいけません|てはならない|決して|避けて|使わない|触らない|せずに|ダメ"
        "|하지 마|지 마|지마|마세요|말 것|절대|금지|결코|말아"
    ),
    Cue.LASTS: (
        "总是|總是|始终|始終|一律|从现在起|從現在起|从现在开始|今后|今後|以后|以後|每次|每当|每當|永远|永遠|接下来都|所有回复|所有回覆"
        "|常に|必ず|いつも|これから|毎回|今から|以降|すべての返|全ての返"
        "|항상|앞으로|지금부터|이제부터|매번|반드시|언제나|모든 답"
    ),
    Cue.BINDS: (
        "必须|必須|务必|務必|只能|只用|仅|僅|只需|应该|應該|一定要|确保|確保|注意|要求|规则|規則|截止|预算|預算|目标|目標|至少|最多|不超过"
        "|べき|なければならない|なければなりません|だけ|のみ|してください|必要|重要|以内|締め切り|予算|ルール"
        "|해야|만 사용|오직|꼭|중요|필수|규칙|마감|예산|목표|이내|이하"
    ),
    Cue.PREFERS: (
        "优先|優先|宁可|最好|而不是|代替|改用|我想要|我希望|比较喜欢|不要用|偏好"
        "|代わりに|ではなく|の方が|好み|たい|希望"
        "|대신|보다는|선호|원해|원합니다|말고"
    ),
    Cue.DECIDES: (
        "更正|纠正|改为|改為|改成|改到|其实|其實|决定|決定|更新|不再|推迟|推遲|换成|換成|调整为|变更"
        "|訂正|実は|変更|決めました|決めた|やめて|延期|もう使わ|になりました"
        "|정정|사실은|변경|결정|바꿔|바뀌|연기|더 이상|업데이트"
    ),
    Cue.ANSWERS: "回复|回覆|回答|答复|用中文|用英文|返信|返答|回答|日本語で|英語で|답변|대답|한국어로|영어로|yanıt|cevap",
    Cue.NOW: "现在|現在|如今|目前|今は|이제|지금",
    Cue.RETRACTS: "算了|忘掉|撤回|収回|取り消|忘れて|잊어|취소",
    Cue.PERMITS: "可以|允许|允許|不用再|なくていい|しても良い|してもいい|해도 돼|해도 됩니다|괜찮",
}

PARTS: tuple[tuple[str, Cue], ...] = tuple(
    (part, cue) for cue, row in _PARTS.items() for part in row.split("|")
)
"""Parts of words, and what they say."""

MANNERS = frozenset(
    (
        # What says how something is to be, rather than asking for a piece of work.
        "use keep put call name pick stick follow treat restate cite format limit log set answer reply respond end begin"
        " prefer assume store host verwende nutze benutze nimm antworte gebruik neem utilise utilisez réponds répondez"
        " garde gardez usa use utiliza responde mantén adicione mantenha responda rispondi mantieni użyj używaj odpowiadaj"
        " используй используйте отвечай отвечайте kullan yanıtla cevapla استخدم أجب"
    ).split()
)
"""Verbs that begin an order about how things are."""

STARTS = frozenset(
    (
        "never always only ensure remember whenever niemals nie immer stets nur kein keine jamais toujours nunca siempre"
        " sempre mai nooit altijd nigdy zawsze никогда всегда asla daima دائما لا हमेशा कभी"
    ).split()
)
"""Words that begin an order that holds from then on."""

TASKS = frozenset(
    (
        # What asks for one piece of work.
        "add analyse analyze build change check clean commit compare compute continue convert create debug"
        " delete deploy describe design develop document download draft edit evaluate examine execute explain"
        " explore extend extract find finish fix generate give help implement improve insert inspect install"
        " investigate launch list look make merge migrate modify move open optimize outline parse plan prepare"
        " print proceed provide publish push rank read rebase redo refactor remove rename replace report research"
        " resolve restart return review rewrite run save search see send show simulate solve sort start stop"
        " submit suggest summarise summarize tell test translate try update upgrade verify write do let"
        # And in other languages.
        " schreibe schreib füge mach mache erstelle prüfe behebe lösche erkläre zeige schrijf maak voeg"
        " écris écrivez ajoute ajoutez crée créez corrige corrigez fais faites escribe crea añade agrega explica haz"
        " crie escreva explique corrija scrivi aggiungi correggi spiega napisz dodaj popraw usuń"
        " напиши добавь исправь удали создай пиши yaz ekle düzelt oluştur sil اكتب أضف लिखो लिखें करें करो"
    ).split()
)
"""Verbs that begin an order for a piece of work."""

SMALL_TALK = frozenset(
    (
        "a again ah alright amazing and awesome bye cheers continue cool correct dear do done doing exactly fine go"
        " good great hello hey hi hm hmm i indeed is it keep k lgtm looks love lovely me much nice no nope of oh ok"
        " okay on one perfect please proceed re really right sounds step sure super thank thanks that thats that's the"
        " then there this thx ty very wait well wonderful wow yeah yep yes you your going ahead next more so job work"
        " ja nein danke bitte weiter gut genau super oui non merci d'accord continue bien sí si gracias vale claro"
        " continúa sim não obrigado obrigada continua sì grazie va bene nee dank je dankjewel goed tak nie dziękuję dzięki"
        " dalej да нет спасибо хорошо продолжай evet hayır teşekkürler tamam devam نعم لا شكرا حسنا हाँ नहीं धन्यवाद ठीक है"
        " 好 好的 谢谢 謝謝 继续 繼續 是 是的 可以 行 はい ありがとう ありがとうございます 続けて 네 예 고마워 감사합니다 계속"
    ).split()
)
"""Words that alone say nothing that anybody needs later."""
