import type { ReplyEntry } from './reply-entry.ts'

/** What any server may say of us, the sender, or the recipient's rules. */
export const anybody: ReplyEntry[] = [
  {
    id: 'rate-of-recipient',
    words:
      /recipient has exceeded .{0,20}(?:rate|limit)|(?:recipient|mailbox|user|account).{0,60}(?:is )?receiv(?:ing|ed) (?:too much|too many|mail too|messages too)|(?:too much|too many) (?:mail|messages|e-?mails) .{0,40}(?:for|to) (?:this|the|that) (?:recipient|mailbox|user)|(?:recipient|mailbox).{0,40}(?:rate|hourly|daily) (?:limit|quota)/i,
    cause: 'recipient_rate',
  },
  {
    id: 'rate-of-domain',
    words:
      /(?:sender|sending) (?:domain|address).{0,60}(?:rate|limit exceeded|too many|quota)|too many (?:messages|mails|e-?mails) from (?:this |your |the )?(?:sender|domain)|limit .{0,30}per (?:sender|sending domain)/i,
    cause: 'domain_rate',
    effect: 'pause_domain',
  },
  {
    id: 'unknown-recipients',
    words:
      /too many (?:invalid|unknown|bad|non-?existent|undeliverable) (?:recipients?|users?|addresses|rcpt)|(?:directory|dictionary|harvest) (?:harvest|attack)|spam ?traps?|honey ?pot/i,
    cause: 'unknown_recipients',
    effect: 'slow_down',
  },
  {
    id: 'too-many-connections',
    words:
      /too many (?:concurrent |simultaneous |open |parallel |active )?(?:smtp )?(?:connections?|sessions)|(?:connection|session) (?:count|limit|rate)|max(?:imum)? (?:number of )?(?:concurrent |simultaneous )?connections|connect(?:ing|ion)s? too (?:often|frequently|fast|many)/i,
    cause: 'sending_rate',
    effect: 'fewer_connections',
  },
  {
    id: 'messages-per-connection',
    words:
      /too many (?:messages|mails|e-?mails|transactions) (?:per|in|for|on|this) .{0,10}(?:connection|session)|(?:messages|mails|transactions) per (?:connection|session)/i,
    cause: 'sending_rate',
    effect: 'shorter_connections',
  },
  {
    id: 'recipients-per-message',
    words: /too many recipients?(?! received)|recipients? limit|maximum (?:number of )?recipients/i,
    cause: 'sending_rate',
  },
  {
    id: 'ip-reputation',
    words: /\bIP reputation\b|(?:poor|bad|low|no) reputation|reputation of (?:your|the) (?:IP|server|host|MTA)/i,
    cause: 'reputation',
    effect: 'rest_address',
  },
  {
    id: 'rate',
    words:
      /rate.?limit|throttl|slow(?:ing)? down|sending (?:rate|too (?:fast|quickly|many|much))|too (?:many|much) (?:mails?|messages?|e-?mails?|emails|traffic|recipients received|requests|errors|commands)|(?:exceed|over).{0,30}(?:sending|hourly|daily|message|mail|email|rate|volume|allowed).{0,20}(?:limit|quota|rate|count|volume)|(?:hourly|daily|sending) (?:limit|quota)|frequency (?:is )?limit|excessive (?:volume|rate|mail|traffic)|deferred due to .{0,30}volume|unusual (?:rate|volume)|limit exceeded|reduce your .{0,20}(?:rate|volume)|flood/i,
    cause: 'sending_rate',
    effect: 'slow_down',
  },
  // Without a word of greylisting: Postfix policy servers and Exim defer unknown senders so, at RCPT; at other places it is a limit.
  { id: 'again-at-rcpt', code: [450, 451], phases: ['rcpt', 'report'], words: /try again (?:in|after)\b/i, cause: 'greylisting' },
  { id: 'again', words: /try again in \d{1,6} (?:second|minute|hour)/i, cause: 'sending_rate', effect: 'slow_down' },
  {
    id: 'ip-listed',
    words:
      /(?:black|block|deny|bad|reject).?list|\blisted (?:at|by|in|on)\b|blocked (?:using|by|at|for|due).{0,60}\.(?:org|net|com|de|info|eu)\b|spamhaus|spamcop|\bsorbs\b|barracuda|uceprotect|mailspike|senderscore|invaluement|abuseat|\bpsbl\b|spamrats|nixspam|lashback|hostkarma|\b(?:R|DNS)BLs?\b|reputation|poor score|low score|(?:your|sending|client|connecting|source|this|the|from) (?:IP|host|server|mail server|network|ip address|MTA)(?: address)?.{0,60}(?:blocked|banned|refused|rejected|denied|listed|not allowed|suspicious|abus|spam)|(?:blocked|banned|refused|rejected|denied) .{0,30}(?:your|sending|client|source) (?:IP|host|server|network)|client host .{0,60}(?:blocked|rejected|denied|refused)|spam (?:source|sender|origin)|spamming|IP.{0,30}\bblocked\b|connection (?:refused|denied|rejected|blocked) .{0,30}(?:policy|reputation|spam)|delist/i,
    cause: 'reputation',
    effect: 'rest_address',
  },
  {
    id: 'host-name',
    words:
      /\b(?:HELO|EHLO)\b.{0,60}(?:reject|invalid|not found|fully|refus|denied|bad|mismatch|does not|unresolv|forged|syntax|own)|(?:invalid|bad|forged|unacceptable|bogus) (?:HELO|EHLO)|HELO\/EHLO/i,
    cause: 'host_name',
  },
  {
    id: 'loop',
    words: /mail loop|loop(?:s|ing)? (?:detected|back)|too many (?:hops|received)|hop count|hops?,? .{0,40}loop|loops back/i,
    cause: 'mail_loop',
  },
  {
    id: 'recipient-rule',
    words:
      /policy rejection on the target|(?:sender|you|message|mail|address|domain) .{0,30}(?:blocked|rejected|refused|denied|blacklisted|not (?:allowed|authori[sz]ed|permitted)) by (?:the |this |that )?(?:recipient|user|mailbox|addressee|customer|domain owner)|recipient address rejected: access denied|rejected by destination domain|mailbox delivery failure policy|recipient.s server refused|recipient (?:definitively )?(?:does not|doesn.?t|has (?:blocked|rejected|refused)|only|is not accepting|not accepting|refus|rejected|declined)|(?:only|not) (?:accepts?|accepting) (?:mail|messages|e-?mail) from (?:members|known|internal|authori[sz]ed|subscribers|outside|external)|(?:members?|subscribers?|internal) only|restricted (?:recipient|group|address|list)|not (?:allowed|authori[sz]ed|permitted|a member).{0,30}(?:post|to (?:this )?(?:list|group|recipient|mailbox))|user.{0,20}(?:white|allow)list|challenge.?response|custom(?:er)? (?:rule|block)|content filter rule of the recipient|organi[sz]ation.{0,20}(?:policy|rule)/i,
    cause: 'recipient_policy',
  },
  {
    id: 'relaying-denied',
    words:
      /relay(?:ing)? (?:is )?(?:access )?(?:denied|not (?:allowed|permitted)|prohibited|forbidden)|(?:not|unable to|cannot|won.?t|will not|do not|don.?t) relay|no relay|not (?:a|our) local (?:domain|host)|rcpthosts|not permitted to relay|relay not permitted|open relay|we do not relay|gateway.{0,20}domain|non-accepted domain|domain (?:is )?not (?:hosted|local|handled|served)/i,
    cause: 'relay_denied',
  },
  {
    id: 'message-format',
    words:
      /not RFC.{0,10}complian|headers? (?:is|are) not|\bRFC ?-?(?:2?822|5322|2045|2047)|malformed|\b(?:missing|invalid|multiple|duplicate|bad|more than one|no valid|without a)\b.{0,30}\b(?:(?:From|Date|To|Subject|Sender)\b.{0,15}(?:headers?|fields?|line)|Message-?ID|headers?\b)|(?:multiple|more than one|two) addresses in from|\bheaders? .{0,30}(?:invalid|missing|syntax|too (?:long|big|large|many)|not (?:allowed|valid))|bare (?:LF|CR|line ?feed|carriage)|\blines? too long|line length|smuggling|disallowed header|encoded-word|null (?:byte|character)|8.?bit .{0,20}header|MIME .{0,30}(?:error|invalid|malformed)/i,
    cause: 'message_format',
  },
]

/** What a server says of a message's content or size, after what the categories of bounces know of the recipient. */
export const vague: ReplyEntry[] = [
  {
    id: 'too-large',
    words:
      /(?:message|mail|size|attachments?|body).{0,30}(?:too (?:big|large)|exceed)|too large|size limit|maximum size|taille limite|(?:exceed|over).{0,40}(?:maximum|allowed) .{0,20}size/i,
    cause: 'too_large',
  },
  {
    id: 'sender-address',
    words:
      /sender (?:address )?(?:rejected|unknown|verif|denied|blocked|invalid|refused|not accepted)|(?:sender|from|return.?path|mail from|envelope).{0,60}(?:does ?n.?t|does not|cannot be|could not be|not) (?:exist|resolve|found|verif|valid|accepted)|(?:invalid|unknown|bad|unverified|unroutable|unresolvable|bogus) (?:sender|from|return.?path|envelope)|(?:verify|verification|call.?(?:back|out)|callback).{0,30}(?:sender|fail)|domain of sender|sender.{0,20}domain|sender.?s? .{0,20}(?:MX|A record|DNS)|null sender|empty (?:sender|envelope)/i,
    cause: 'sender_address',
  },
  {
    id: 'content',
    words:
      /\bspam|\bunsolicited|\bUCE\b|\bUBE\b|\bjunk\b|(?:content|body|subject|attachment|url|link|message|mail|file).{0,30}(?:rejected|denied|blocked|not allowed|forbidden|prohibited|suspicious|banned|violat|refused)|virus|malware|malicious|phish|infected|trojan|message looks|blocked (?:URL|attachment|content)|bulk mail|banned (?:file|content)|high (?:score|spam)/i,
    cause: 'content_rejected',
  },
]
