import { spamhausPage, type ReplyEntry } from './reply-entry.ts'

/**
 * What any server may say, so plainly that it stands above what it says of the recipient. Replies name hosts, too: `(?![-\w]{0,63}\.\w)`
 * behind a word that a host name may hold excludes labels, as in `arc.shop.example`.
 */
export const plainly: ReplyEntry[] = [
  { id: 'malformed', words: /\bmalformed\b(?![-\w]{0,63}\.\w)/i, cause: 'message_format' },
  {
    id: 'mailbox-busy',
    code: 4,
    words: /(?:mailbox|user) (?:is )?(?:busy|locked)|unverified address|time-?out (?:exceeded|- closing)/i,
    cause: 'busy',
  },
  {
    id: 'greylisted',
    words: /gr[ea]y.?list|first.?time sender|unknown triplet|you are being delayed|delayed by postgrey/i,
    cause: 'greylisting',
  },
  { id: 'requiretls', words: /\bREQUIRETLS\b/i, cause: 'require_tls' },
  {
    id: 'tls-first',
    words:
      /must issue a? ?STARTTLS|STARTTLS (?:is )?(?:required|first)|(?:encryption|TLS|secure connection) (?:is )?(?:required|needed|mandatory)|requires? (?:TLS|encryption|a secure connection)|session encryption is required/i,
    cause: 'plain_text',
  },
  // Their own look-ups fail: an open resolver, or one that asks too often (127.255.255.25x).
  { id: 'list-unusable', words: /open resolver|127\.255\.255\.25\d|spamhaus\.org\/returnc/i, cause: 'busy' },
  {
    id: 'reverse-dns',
    words:
      /\b(?:PTR|r(?:everse)?[ -]?DNS)\b(?![-\w]{0,63}\.\w)|reverse[ -](?:lookup|host|map|name|record|resol)|FCrDNS|forward.confirmed|(?:find|resolve) your (?:reverse )?(?:host ?)?name|(?:no|missing|invalid) rDNS|unresolvable .{0,20}(?:IP|client)|hostname .{0,40}does not (?:match|resolve to) .{0,20}(?:IP|address)|mismatch(?:es)? client ip|(?:IP|host) ?name lookup fail|cannot (?:find|resolve) .{0,20}host ?name/i,
    cause: 'reverse_dns',
  },
  {
    id: 'dynamic-address',
    words:
      /dynamic(?:ally)?[ -](?:assigned |allocated )?(?:ip|address|host|pool)|(?:dial.?up|residential|consumer|end.?user) (?:ip|address|host|network|line|connection)|\b(?:PBL|dialups?)\b(?![-\w]{0,63}\.\w)|pbl\.spamhaus|dynablock|\bdul\.(?:dnsbl|sorbs|maps|mail-abuse|ru)\b|dialups\.mail-abuse|use your (?:isp|provider).{0,10}(?:mail|smtp|relay)/i,
    cause: 'dynamic_address',
    effect: 'rest_address',
    page: spamhausPage,
  },
  {
    id: 'domain-listed',
    words:
      /\bdbl\.(?:dq\.)?spamhaus|\bDBL\b(?![-\w]{0,63}\.\w)|\b(?:SURBL|URIBL|RHSBL|ivmURI)\b|(?:domain|sender address|from address|helo|URLs?).{0,60}(?:black|block|deny).?list(?!ed IP)|(?:listed|blocked).{0,40}\b(?:dbl|surbl|uribl|rhsbl)\b|reputation of.{0,20}domain|domain.{0,20}reputation|domain .{0,60}(?:has been banned|is banned)/i,
    cause: 'domain_reputation',
    effect: 'pause_domain',
    page: spamhausPage,
  },
  { id: 'range-refused', words: /not (?:allowed|accepted) from this (?:range|network|IP)/i, cause: 'reputation', effect: 'rest_address' },
  {
    id: 'authentication',
    words:
      /\b(?:SPF|DKIM|DMARC|ARC|Sender ?ID)\b(?![-\w]{0,63}\.\w)|\bopenspf\b|Sender Policy Framework|unauthenticated (?:e-?mail|mail|message|sender)|sender is unauthenticated|not authenticated|(?:not|isn.?t) aligned|not (?:authori[sz]ed|allowed|permitted) to send (?:e?-?mails? |messages? )?(?:for|from|on behalf)|not (?:allowed|permitted|designated).{0,40}(?:send|sender).{0,20}(?:for|from) (?:that |this |the )?domain|(?:spoof|forged)(?![-\w]{0,63}\.\w)|message not signed|authentication checks?/i,
    cause: 'authentication',
  },
  {
    id: 'login-failed',
    words:
      /\bauth (?:is )?required|too many login attempts|log in through your|username and password not accepted|(?:invalid|bad|incorrect) (?:login|credentials|username|user name|password)|application-specific password|authentication (?:is )?(?:required|enabled|not enabled|unsuccessful|failed|failure|credentials invalid|needed)|must (?:authenticate|be authenticated|log ?in)|log in (?:first|via)|requires? (?:smtp )?authentication|unrecognized authentication type/i,
    cause: 'login',
  },
]

/** What the reply says of the recipient: also before the words of limits, because mailboxes have limits, too. */
export const recipients: ReplyEntry[] = [
  { id: 'status-size', status: /^5\.(?:3\.4|2\.3)$/, cause: 'too_large' },
  {
    id: 'disk-full',
    code: 4,
    words: /insufficient (?:system |disk )(?:storage|space)|(?:disk|file ?system|partition) (?:is )?full/i,
    cause: 'busy',
  },
  { id: 'mailbox-full', category: 'mailbox_full', cause: 'mailbox_full' },
  {
    id: 'mailbox-closed',
    words:
      /not in recipient list|(?:user|address|mailbox).{0,30}marked as invalid|(?:user|address|mailbox|recipient).{0,40}no longer (?:valid|active|exists)|(?:user|mailbox|account|recipient)\b.{0,60}\b(?:locked|disabled|suspended|inactive|frozen|deactivated)\b/i,
    cause: 'invalid_recipient',
  },
  { id: 'later', code: 4, status: /^4\.[^1]\./, words: /^(?:please )?(?:try|retry)\b.{0,20}later/i, cause: 'busy' },
  { id: 'unknown-recipient', category: 'invalid_recipient', cause: 'invalid_recipient' },
  { id: 'unknown-domain', category: 'domain_not_found', cause: 'domain_not_found' },
]
