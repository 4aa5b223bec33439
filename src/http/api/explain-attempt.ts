import { classifyRefusal } from '../../bounce-vocabulary.ts'
import type { BounceCategory } from '../../bounce-parser/refusal.ts'

/** Who can do something about what happened. */
export const explanationOwners = ['recipient', 'sender', 'content', 'network', 'us'] as const
type ExplanationOwner = (typeof explanationOwners)[number]

/** An attempt explained in plain words. */
interface Explanation {
  cause: string
  owner: ExplanationOwner
  advice: string
}

/** What is known about an attempt. */
interface AttemptFacts {
  outcome: 'delivered' | 'deferred' | 'bounced'
  smtpCode: number | null
  enhancedStatus: string | null
  /** The decisive reply, or what went wrong without one. */
  reply: string | null
}

interface ExplanationRule extends Explanation {
  /** Matches `5.1.1`; a rule without it applies with any status and with none. */
  status?: RegExp
  /** Matches the text of the reply. */
  words?: RegExp
  /** The category that the reply was judged to have. A rule applies if any of its three conditions does. */
  category?: BounceCategory
}

const waits = 'Nothing: Sterna retries it on schedule.'

/** If the other server replied; the first matching rule counts. */
const replyRules: ExplanationRule[] = [
  {
    words: /gr[ea]y.?list|try again (?:in|after)|first.?time sender/i,
    cause: 'The receiving server makes unknown senders wait and try again (greylisting).',
    owner: 'network',
    advice: waits,
  },
  {
    status: /^\d\.7\.(?:2[0-6]|29)$/,
    words: /\b(?:SPF|DKIM|DMARC)\b|unauthenticated|not authenticated/i,
    cause: 'The receiving server did not find the mail authenticated (SPF, DKIM or DMARC).',
    owner: 'sender',
    advice: "Check the DNS records of the sending domain, and that this server's PTR record leads to its host name and back.",
  },
  {
    category: 'reputation',
    words: /blocklist|blacklist|block list|listed (?:at|by|in|on)|spamhaus|barracuda|reputation|poor score|RBL|DNSBL/i,
    cause: 'The receiving server does not trust the IP address or the domain that the mail came from.',
    owner: 'sender',
    advice: 'Look up the address and the domain on the list that the reply names, fix the cause, and ask for removal there.',
  },
  {
    words: /spam|unsolicited|content (?:rejected|denied)|virus|malware|phish|message looks|blocked URL/i,
    status: /^\d\.(?:6\.\d+|7\.50\d)$/,
    cause: 'The receiving server rejects the content of the message.',
    owner: 'content',
    advice: 'Check links, attachments and wording; send a plain version to the same address to compare.',
  },
  {
    category: 'mailbox_full',
    cause: "The recipient's mailbox is full.",
    owner: 'recipient',
    advice: 'Contact the recipient in another way, or send again when they have made room.',
  },
  {
    category: 'invalid_recipient',
    cause: 'The mailbox does not exist at the receiving server, or is closed.',
    owner: 'recipient',
    advice: 'Check the spelling of the address, and remove it from your lists.',
  },
  {
    status: /^\d\.(?:3\.4|2\.3)$/,
    words: /(?:message|size) (?:too (?:big|large)|exceeds)|too large/i,
    cause: 'The message is larger than the receiving server accepts.',
    owner: 'content',
    advice: 'Send smaller attachments, or links to the files.',
  },
  {
    category: 'domain_not_found',
    cause: "The receiving server finds no mail server for the recipient's domain.",
    owner: 'recipient',
    advice: 'Check the spelling of the address.',
  },
  {
    status: /^\d\.1\.[78]$/,
    words: /sender (?:address )?(?:rejected|unknown|verify)/i,
    cause: 'The receiving server does not accept the sender address.',
    owner: 'sender',
    advice: 'Check that the MX records of the sending domain and its return-path subdomain are published as required.',
  },
  {
    status: /^4\.(?:4\.5|3\.2|7\.\d+)$/,
    words: /too many|rate limit|throttl|limit exceeded|try (?:again )?later|busy|temporar/i,
    cause: 'The receiving server is busy, or limits how much mail it accepts from one sender.',
    owner: 'network',
    advice: waits,
  },
  {
    status: /^\d\.5\.\d+$/,
    cause: 'The two servers did not understand each other.',
    owner: 'us',
    advice: 'Send the dialogue of this attempt to the operator of this server.',
  },
  {
    status: /^\d\.7\.\d+$/,
    words: /policy|denied|not allowed|not permitted|access|relay|administrative/i,
    cause: 'A policy of the receiving server forbids this message.',
    owner: 'sender',
    advice: 'Read its reply: it often names the policy, or a page about it. Its postmaster can tell more.',
  },
]

/** If the other server did not reply: by the code that our own text begins with, which host names cannot imitate. */
const silenceRules: ExplanationRule[] = [
  {
    words: /^5\.1\.10 /,
    cause: "The recipient's domain declares that it accepts no mail at all (null MX).",
    owner: 'recipient',
    advice: 'Check the spelling of the domain.',
  },
  {
    words: /^5\.1\.[23] |^5\.4\.4 no host /,
    cause: "The recipient's domain does not exist, or has no mail server.",
    owner: 'recipient',
    advice: 'Check the spelling of the address.',
  },
  {
    words: /^[45]\.5\.0 /,
    cause:
      'The receiving server breaks the SMTP protocol: its answer to the message says neither that it has it nor that it refuses it. ' +
      'The recipient may have the message, so Sterna sends it once more at most.',
    owner: 'recipient',
    advice: 'Ask the recipient whether it arrived before you send it again, and tell the postmaster of the domain.',
  },
  {
    words: /^5\.4\.[46] /,
    cause: "The mail server of the recipient's domain has an address that this server does not connect to: a private one, or its own.",
    owner: 'recipient',
    advice: 'Check the MX records of the domain. For a network of your own, see the setting delivery.allow_private_addresses.',
  },
  {
    words: /^4\.\d\.\d .*, say the name servers/,
    cause:
      "The name servers say that the recipient's domain does not exist, or has no reachable mail server. " +
      'They may be wrong, so Sterna asks them again before the message bounces.',
    owner: 'recipient',
    advice: 'Check the spelling of the address. If many domains are affected, check the name servers that this server uses.',
  },
  {
    words: /^4\.4\.3 /,
    cause: "The DNS gave no answer about the recipient's domain.",
    owner: 'network',
    advice: `${waits} If many domains are affected, check the name servers that this server uses.`,
  },
  {
    words: /TLS is required/,
    cause: 'The sending domain requires TLS with a valid certificate, and the receiving server does not offer it.',
    owner: 'network',
    advice: `${waits} If this continues, the other side must repair its TLS, or you must relax the domain's setting.`,
  },
  {
    words: /^5\.6\.[37] /,
    cause: 'The receiving server does not accept addresses or text with these characters.',
    owner: 'recipient',
    advice: 'Use only ASCII in the address and text for this recipient.',
  },
  {
    words: /^5\.3\.4 /,
    cause: 'The message is larger than the receiving server accepts.',
    owner: 'content',
    advice: 'Send smaller attachments, or links to the files.',
  },
  {
    words: /^\d\.\d+\.\d+ /,
    cause: 'Something is wrong with this server or its settings.',
    owner: 'us',
    advice: 'Send the id of this attempt to the operator of this server.',
  },
  {
    words: /time-?out|connection|closed|out of turn|cannot be understood|answered before|stopped/i,
    cause: 'The receiving server could not be reached, or dropped the connection.',
    owner: 'network',
    advice: `${waits} If no server can be reached, the network probably blocks outgoing port 25.`,
  },
]

const delivered: Explanation = {
  cause: 'The receiving server accepted the message.',
  owner: 'recipient',
  advice: 'Nothing. If the recipient does not see it, it may be in their spam folder.',
}

/** Says how an attempt ended, who can do something about it, and what. */
export function explainAttempt(facts: AttemptFacts): Explanation {
  if (facts.outcome === 'delivered') return delivered
  const category = facts.smtpCode === null ? null : categoryOf(facts)
  const rules = category === null ? silenceRules : replyRules
  const rule = rules.find(
    (each) => fits(each.status, facts.enhancedStatus) || fits(each.words, facts.reply) || (category !== null && each.category === category),
  )
  if (rule) return { cause: rule.cause, owner: rule.owner, advice: rule.advice }
  if (facts.outcome === 'deferred') {
    return { cause: 'The receiving server refused the message for now.', owner: 'network', advice: waits }
  }
  return {
    cause: 'The receiving server refused the message permanently.',
    owner: 'recipient',
    advice: 'Read its reply, and ask the recipient or their postmaster.',
  }
}

const fits = (pattern: RegExp | undefined, text: string | null): boolean => pattern !== undefined && text !== null && pattern.test(text)

/** Judged as a final failure, whatever phase it came in. */
const categoryOf = ({ smtpCode, enhancedStatus, reply }: AttemptFacts): BounceCategory =>
  classifyRefusal({ code: smtpCode, enhancedStatus: enhancedStatus, text: reply ?? '', remoteHost: null, phase: 'report' }).category
