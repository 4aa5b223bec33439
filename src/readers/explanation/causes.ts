import type { SuppressionOrigin } from '../../mail/suppression/suppression-origin.ts'

/** Who can do something about a failure. */
export const explanationOwners = ['recipient', 'sender', 'content', 'network', 'us'] as const
type ExplanationOwner = (typeof explanationOwners)[number]

interface Cause {
  owner: ExplanationOwner
  what: string
  /** What to do; none if only time helps. */
  advice?: string
  /** Set where the same message may well get through at another try. */
  passes?: true
}

/**
 * Why mail does not arrive, each cause with its one owner. The code stays, because counts are kept by it. A code that is also a bounce
 * category explains a bounce of which no more is known.
 */
export const causes = {
  greylisting: { owner: 'network', what: 'The receiving server makes unknown senders wait and try again (greylisting).', passes: true },
  reverse_dns: {
    owner: 'us',
    what: "The receiving server found no PTR record that leads from this server's IP address to its host name and back.",
    advice: "Whoever runs this server must set the PTR record at the provider of its IP address; the server's health says to which name.",
  },
  authentication: {
    owner: 'sender',
    what: 'The receiving server did not find the mail authenticated (SPF, DKIM or DMARC).',
    advice: 'Check the DNS records of the sending domain.',
  },
  domain_reputation: {
    owner: 'sender',
    what: 'The receiving server does not trust the domain that the mail came from.',
    advice: 'Look up the domain on the list that the reply names, fix the cause, and ask for removal there.',
  },
  reputation: {
    owner: 'us',
    what: 'The receiving server does not trust the IP address that the mail came from.',
    advice: 'Look up the address on the list that the reply names, fix the cause, and ask for removal there.',
  },
  content_rejected: {
    owner: 'content',
    what: 'The receiving server rejects the content of the message.',
    advice: 'Check links, attachments and wording; send a plain version to the same address to compare.',
  },
  mailbox_full: {
    owner: 'recipient',
    what: "The recipient's mailbox is full.",
    advice: 'Contact the recipient in another way, or send again when they have made room.',
  },
  invalid_recipient: {
    owner: 'recipient',
    what: 'The mailbox does not exist at the receiving server, or is closed.',
    advice: 'Check the spelling of the address, and remove it from your lists.',
  },
  too_large: {
    owner: 'content',
    what: 'The message is larger than the receiving server accepts.',
    advice: 'Send smaller attachments, or links to the files.',
  },
  domain_not_found: {
    owner: 'recipient',
    what: "The recipient's domain does not exist, or has no mail server.",
    advice: 'Check the spelling of the address.',
  },
  sender_address: {
    owner: 'sender',
    what: 'The receiving server does not accept the sender address.',
    advice: 'Check that the MX records of the sending domain and its return-path subdomain are published as required.',
  },
  host_name: {
    owner: 'us',
    what: 'The receiving server does not accept the host name that this server introduces itself with.',
    advice: "Whoever runs this server must check the setting hostname and its DNS records; the server's health says what is wrong.",
  },
  busy: {
    owner: 'network',
    what: 'The receiving server is busy, or limits how much mail it accepts from one sender.',
    passes: true,
  },
  protocol: {
    owner: 'us',
    what: 'The two servers did not understand each other.',
    advice: 'Send the dialogue of this attempt to the operator of this server.',
  },
  policy: {
    owner: 'sender',
    what: 'A policy of the receiving server forbids this message.',
    advice: 'Read its reply: it often names the policy, or a page about it. Its postmaster can tell more.',
  },
  null_mx: {
    owner: 'recipient',
    what: "The recipient's domain declares that it accepts no mail at all (null MX).",
    advice: 'Check the spelling of the domain.',
  },
  unclear_answer: {
    owner: 'network',
    what:
      'The receiving server breaks the SMTP protocol: its answer to the message says neither that it has it nor that it refuses it. ' +
      'The recipient may have the message, so Sterna sends it once more at most.',
    advice: 'Ask the recipient whether it arrived before you send it again, and tell the postmaster of the domain.',
  },
  private_address: {
    owner: 'recipient',
    what: "The mail server of the recipient's domain has an address that this server does not connect to: a private one, or its own.",
    advice: 'Check the MX records of the domain. For a network of your own, see the setting delivery.allow_private_addresses.',
  },
  domain_doubtful: {
    owner: 'recipient',
    what:
      "The name servers say that the recipient's domain does not exist, or has no reachable mail server. " +
      'They may be wrong, so Sterna asks them again before the message bounces.',
    advice: 'Check the spelling of the address. If many domains are affected, check the name servers that this server uses.',
  },
  dns: {
    owner: 'network',
    what: "The DNS gave no answer about the recipient's domain.",
    advice: 'If many domains are affected, check the name servers that this server uses.',
    passes: true,
  },
  tls: {
    owner: 'network',
    what: 'TLS is required for this mail, and the receiving server does not offer it as required.',
    advice:
      'The reply of the attempt says who requires it, and what is missing. If this continues, the other side must repair its TLS, ' +
      'or whoever requires it must relax that.',
    passes: true,
  },
  mta_sts: {
    owner: 'recipient',
    what: "The recipient's domain publishes a list of its mail servers (MTA-STS), and the servers that its DNS names are not in it.",
    advice:
      'Only the owner of that domain can correct the list, so tell its postmaster. An operator can set delivery.recipient_tls for the domain.',
    passes: true,
  },
  require_tls: {
    owner: 'sender',
    what: 'The sender requires TLS at every hop (REQUIRETLS), which the receiving server does not offer.',
    advice: 'Send it without REQUIRETLS, or in another way. The other side needs MTA-STS or DNSSEC, a valid certificate, and REQUIRETLS.',
  },
  characters: {
    owner: 'content',
    what: 'The receiving server does not accept addresses or text with these characters.',
    advice: 'Use only ASCII in the address and text for this recipient.',
  },
  internal_error: {
    owner: 'us',
    what: 'Something is wrong with this server or its settings.',
    advice: 'Send the id of this email to the operator of this server.',
  },
  timeout: {
    owner: 'network',
    what: 'The receiving server could not be reached, or dropped the connection.',
    advice: 'If no server can be reached, the network probably blocks outgoing port 25.',
    passes: true,
  },
  expired: { owner: 'network', what: 'The receiving server did not take the message before its time was over.', passes: true },
  not_tried: {
    owner: 'us',
    what: 'This server did not get to try the message before its time was over.',
    advice: 'Send it again. If this happens often, whoever runs this server must look at its queue.',
  },
  ended_by_operator: {
    owner: 'us',
    what: 'The operator of this server ended the delivery.',
    advice: 'Ask the operator before you send it again.',
  },
  suppressed: {
    owner: 'sender',
    what: 'The address is on your suppression list, so the message was not sent to it.',
    advice: 'The suppression list says why.',
  },
  refused_for_now: { owner: 'network', what: 'The receiving server refused the message for now.', passes: true },
  other: {
    owner: 'recipient',
    what: 'The receiving server refused the message permanently.',
    advice: 'Read its reply, and ask the recipient or their postmaster.',
  },
  none: {
    owner: 'recipient',
    what: 'The receiving server accepted the message.',
    advice: 'Nothing. If the recipient does not see it, it may be in their spam folder.',
  },
} as const satisfies Record<string, Cause>

export type CauseCode = keyof typeof causes

/** What to do about a suppressed address, by what put it on the list; `removed` where it is on it no more. */
export const adviceAboutSuppressions = {
  suppressed_bounce: 'Ask the recipient for an address that works. If this one works again, remove the entry and send again.',
  suppressed_complaint: 'Send them no more, unless they ask for it. Then remove the entry.',
  suppressed_unsubscribe: 'Send them no more of this mail, unless they subscribe again. Then remove the entry.',
  suppressed_manual: 'If the recipient wants your mail, remove the entry and send again.',
  suppressed_no_more: 'The entry is gone from the list: you can send the email again.',
} as const

export const causeCodes = Object.keys(causes) as CauseCode[]

/** The owner of a cause, also of a code that a later version has counted. */
export const ownerOf = (code: string): ExplanationOwner => (causes as Record<string, Cause>)[code]?.owner ?? causes.other.owner

/** What is advised besides: the causes that pass have it before their own advice. */
export const adviceAboutRetries = {
  retried: 'Nothing to do: Sterna retries it on schedule.',
  given_up: 'Sterna has given up. Send it again once the cause is gone.',
} as const

/** What names a sentence of advice: a cause by its code, or what Sterna itself does. */
export type AdviceCode = CauseCode | keyof typeof adviceAboutRetries | keyof typeof adviceAboutSuppressions

/** An explanation in plain words. */
export interface Explanation {
  code: CauseCode
  cause: string
  owner: ExplanationOwner
  /** The sentences of `advice`, in order. */
  adviceCodes: AdviceCode[]
  advice: string
}

/** @param isOver whether Sterna tries no more */
export function explanationOf(code: CauseCode, isOver: boolean): Explanation {
  const { owner, what, advice, passes }: Cause = causes[code]
  const about = isOver ? 'given_up' : 'retried'
  const codes: AdviceCode[] = [...(passes ? [about as AdviceCode] : []), ...(advice === undefined ? [] : [code])]
  const sentences = [...(passes ? [adviceAboutRetries[about]] : []), ...(advice === undefined ? [] : [advice])]
  return { code, cause: what, owner, adviceCodes: codes, advice: sentences.join(' ') }
}

/** Why a suppressed recipient got nothing. @param origin of the entry that is in force; null if there is none any more */
export function explanationOfSuppression(origin: SuppressionOrigin | null): Explanation {
  const code = `suppressed_${origin ?? 'no_more'}` as const
  return { ...explanationOf('suppressed', true), adviceCodes: [code], advice: adviceAboutSuppressions[code] }
}
