/** Why a recipient was given up, in the words of the API. */
export type BounceCategory =
  | 'invalid_recipient'
  | 'mailbox_full'
  | 'domain_not_found'
  | 'content_rejected'
  | 'policy'
  | 'reputation'
  | 'timeout'
  | 'expired'
  | 'suppressed'
  | 'internal_error'
  | 'other'

/** What a refusal answers; `dot` is the end of the message data, `report` a refusal told of by mail, at whatever phase it was. */
export type RefusalPhase = 'banner' | 'ehlo' | 'starttls' | 'mail' | 'rcpt' | 'data' | 'dot' | 'report'

/** What a mail system said of a recipient, in a reply or in a report. */
export interface Refusal {
  /** Of RFC 5321 4.2; null where a report tells of none. */
  code: number | null
  /** Of RFC 3463, such as `5.1.1`. */
  enhancedStatus: string | null
  /** Everything else that was said, on one line. */
  text: string
  /** Who said it, where that is known: a host name in lower case. */
  remoteHost: string | null
  phase: RefusalPhase
}

/** What a refusal means. */
export interface Judgement {
  category: BounceCategory
  /** True where the address or its domain does not exist, has moved, or takes no mail: it must not be written to again. */
  hard: boolean
  /** True where only the wording calls the address unknown. Unless that is proved, it takes a second report to count. */
  inWords?: true | undefined
}

/** Codes of RFC 3463 for a domain with a null MX (RFC 7505), and for one whose hosts were not found for now. */
const dnsCodes = /^(?:\d\.1\.10|4\.1\.2|4\.4\.[346])$/

interface Failure {
  /** What was said. */
  reason: string
  category: BounceCategory
  smtpCode: number | null
  enhancedStatus: string | null
}

/** Exchange has the code of a null MX for an address that its directory lacks. */
const ofDirectory = /RecipientNotFound|recipient not found/i

/** True of what rests on somebody's DNS, which may be wrong for a while. 556: RFC 7504 3. */
export const restsOnDns = ({ category, smtpCode, enhancedStatus, reason }: Failure): boolean =>
  category === 'domain_not_found' || smtpCode === 556 || (dnsCodes.test(enhancedStatus ?? '') && !ofDirectory.test(reason))
