import type { ReplyEntry } from './reply-entry.ts'

const applePostmaster = 'https://support.apple.com/102322'
const gmxErrors = 'https://postmaster.gmx.net/en/error-messages'
const comcastErrors = 'https://postmaster.comcast.net/smtp-error-codes.php'
const orangePostmaster = 'https://postmaster.orange.fr/'
const cloudmark = 'https://csi.cloudmark.com/en/reset/'

/** Other providers for people: each block has its source. */
export const mailboxProviders: ReplyEntry[] = [
  // support.apple.com/102322; the codes in brackets are those of its filter: kumomta (shaping.toml), smtp.codes.
  { id: 'apple-volume', words: /deferred due to excessive volume/i, cause: 'sending_rate', effect: 'slow_down', page: applePostmaster },
  { id: 'apple-deferred', words: /\[(?:HCM1|BS02)\]/, cause: 'reputation', effect: 'slow_down', page: applePostmaster },
  { id: 'apple-filter', words: /\[(?:CS0[12]|HM08)\]/, cause: 'content_rejected', page: applePostmaster },
  { id: 'apple-busy', provider: 'apple', words: /service unavailable - try again later/i, cause: 'busy', effect: 'slow_down' },
  // postmaster.gmx.net/en/error-messages
  { id: 'gmx-ptr', words: /bad DNS PTR resource record/i, cause: 'reverse_dns', effect: 'rest_address', page: gmxErrors },
  { id: 'gmx-listed', words: /IP address is block ?listed/i, cause: 'reputation', effect: 'rest_address', page: gmxErrors },
  {
    id: 'gmx-rate',
    provider: 'gmx',
    words: /too many messages|reduce the sending rate|rate limit/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: gmxErrors,
  },
  { id: 'gmx-helo', provider: 'gmx', words: /changing HELO|HELO.{0,40}policy/i, cause: 'host_name', page: gmxErrors },
  { id: 'gmx-header', words: /policy restrictions \(header based\)/i, cause: 'message_format', page: gmxErrors },
  { id: 'gmx-domain', words: /policy restrictions \(domain based\)/i, cause: 'domain_reputation', effect: 'pause_domain', page: gmxErrors },
  { id: 'gmx-sender', words: /invalid DNS MX/i, cause: 'sender_address', page: gmxErrors },
  {
    id: 'gmx-policy',
    provider: 'gmx',
    words: /reject due to policy (?:restrictions|violations?)/i,
    cause: 'reputation',
    effect: 'slow_down',
    page: gmxErrors,
  },
  // postmaster.t-online.de: an unknown address is refused until somebody writes to them.
  {
    id: 'tonline-unknown',
    words: /\(NOWL\)|none\/bad reputation/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'mailto:tosa@rx.t-online.de',
  },
  {
    id: 'tonline-dynamic',
    words: /a problem occurred\..{0,150}\(DYN\)/i,
    cause: 'dynamic_address',
    effect: 'rest_address',
    page: 'https://postmaster.t-online.de/',
  },
  {
    id: 'tonline-listed',
    words: /tosa@rx\.t-online|a problem occurred\. \(ask your postmaster/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'mailto:tosa@rx.t-online.de',
  },
  // postmaster.comcast.net
  {
    id: 'comcast-connections',
    words: /too many sessions opened/i,
    cause: 'sending_rate',
    effect: 'fewer_connections',
    page: comcastErrors,
  },
  { id: 'comcast-rate', words: /\bRL0000\d\d\b/, cause: 'sending_rate', effect: 'slow_down', page: comcastErrors },
  { id: 'comcast-listed', words: /\bBL000\d{3}\b/, cause: 'reputation', effect: 'rest_address', page: 'https://spa.xfinity.com/report' },
  { id: 'comcast-dmarc', words: /\bDM000001\b/, cause: 'authentication', effect: 'pause_domain', page: comcastErrors },
  // postmaster.orange.fr, and the codes that postmastery.com lists
  { id: 'orange-connections', words: /OFR_?00[45]_104/i, cause: 'sending_rate', effect: 'fewer_connections', page: orangePostmaster },
  { id: 'orange-rate', words: /OFR_?004_105|OFR_?999/i, cause: 'sending_rate', effect: 'slow_down', page: orangePostmaster },
  { id: 'orange-blocked', words: /OFR_?006_1\d\d|OFR_?006_102/i, cause: 'reputation', effect: 'rest_address', page: cloudmark },
  { id: 'orange-size', words: /OFR_?514\b/i, cause: 'too_large' },
  { id: 'orange-spam', words: /OFR_?5(?:06|1[0-35-9]|2\d)\b/i, cause: 'content_rejected', page: orangePostmaster },
  // bentonow.com/smtp-errors, for laposte.net and sfr.fr
  {
    id: 'laposte-reputation',
    words: /LPN\d{3}_5\d\d|LPNAA_5\d\d|\bLPN\w{0,8}_50\d/i,
    cause: 'reputation',
    effect: 'slow_down',
    page: 'https://postmaster.laposte.net/',
  },
  { id: 'sfr-blocked', words: /SFR_IN_\w{0,12}_?\d{1,4}/i, cause: 'sending_rate', effect: 'slow_down' },
  // postmaster.free.fr: a block ends by itself within a day.
  {
    id: 'free-blocked',
    words: /too many (?:spams?|errors).{0,20}from your IP/i,
    cause: 'reputation',
    effect: 'rest_address',
    page: 'http://postmaster.free.fr/',
  },
  // exmail.qq.com, help; 550 although it ends
  {
    id: 'qq-rate',
    words: /(?:ip|connection|sender|domain) frequency (?:is )?limited/i,
    cause: 'sending_rate',
    effect: 'slow_down',
    page: 'https://open.work.weixin.qq.com/help2/pc/20046',
  },
  { id: 'qq-content', words: /mail content denied|suspected (?:as )?spam/i, cause: 'content_rejected' },
  // NetEase (163, 126, yeah): help.mail.163.com, "退信代码说明"
  { id: 'netease-connections', words: /\bHL:ICC\b|\bMI:DMC\b/, cause: 'sending_rate', effect: 'fewer_connections' },
  {
    id: 'netease-rate',
    words: /\bHL:IFC\b|\bRP:ORQ\b|\bHL:ITC\b|\bRP:CEL\b|\bRP:QRC\b|\bMI:SFQ\b/,
    cause: 'sending_rate',
    effect: 'slow_down',
  },
  { id: 'netease-senders', words: /\bHL:REP\b|\bHL:MEP\b/, cause: 'unknown_recipients', effect: 'slow_down' },
  { id: 'netease-listed', words: /\bRP:TRC\b|\bMI:(?:CEL|SPB)\b|\bHL:IPB\b/, cause: 'reputation', effect: 'rest_address' },
  { id: 'netease-spam', words: /\bDT:SPM\b|\bDT:SPS\b/, cause: 'content_rejected' },
  { id: 'netease-spf', words: /\bMI:SPF\b|\bMI:DMA\b/, cause: 'authentication' },
  // yandex.com/support/mail, smtp.codes
  {
    id: 'yandex-rate',
    provider: 'yandex',
    words: /service (?:currently|is currently) unavailable|^try again later/i,
    cause: 'sending_rate',
    effect: 'slow_down',
  },
]
