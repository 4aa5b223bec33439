import type { bounceCategories } from '../../platform/metrics/metric-table.ts'

/** Why a recipient bounced, in the words of the API. */
export type BounceCategory = (typeof bounceCategories)[number]

export const refusalPhases = ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot', 'report'] as const

/** What was refused. `dot` is the end of the message data; `report` is a refusal quoted in a bounce, from an unknown phase. */
export type RefusalPhase = (typeof refusalPhases)[number]

/** What a mail system said about a recipient, in a reply or a bounce. */
export interface Refusal {
  /** RFC 5321 4.2; null if a bounce gives none. */
  code: number | null
  /** RFC 3463, such as `5.1.1`. */
  enhancedStatus: string | null
  /** The rest of the text, on one line. */
  text: string
  /** The host that said it, if known; lower case. */
  remoteHost: string | null
  phase: RefusalPhase
}

/** What a refusal means. */
export interface Judgement {
  category: BounceCategory
  /** True if the address or its domain does not exist, has moved, or accepts no mail. It must not get mail again. */
  hard: boolean
  /** True if only the wording says that the address is unknown. Then it counts only with proof, or from the second bounce on. */
  inWords?: true | undefined
}

/** Codes (RFC 3463) for a domain with a null MX (RFC 7505), or whose hosts cannot be found at the moment. */
const dnsCodes = /^(?:\d\.1\.10|4\.1\.2|4\.4\.[346])$/

interface Failure {
  /** The text of the reply. */
  reason: string
  category: BounceCategory
  smtpCode: number | null
  enhancedStatus: string | null
}

/** Exchange uses the null MX code for an address that is missing from its directory. */
const ofDirectory = /RecipientNotFound|recipient not found/i

/** True if the failure rests on the DNS, which may be wrong for a while. 556: RFC 7504 3. */
export const restsOnDns = ({ category, smtpCode, enhancedStatus, reason }: Failure): boolean =>
  category === 'domain_not_found' || smtpCode === 556 || (dnsCodes.test(enhancedStatus ?? '') && !ofDirectory.test(reason))
