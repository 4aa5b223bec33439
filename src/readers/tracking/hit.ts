/** A request for the picture or a link of a recipient's message. */
export interface Hit {
  /** The picture, the hidden link, or the link at that position of the message. */
  what: 'open' | 'honeypot' | `click:${number}`
  /** ms since the mailbox's server accepted the message; negative for earlier hits. */
  afterDeliveryMs: number
  method: string
  /** Names in lower case, in their order. */
  headers: Record<string, string>
  ip: string | null
}

/** All requests on a recipient's message. */
export interface HitMessage {
  /** How many of its links can be clicked. */
  links: number
  scheme: 'http' | 'https'
  hits: readonly Hit[]
}

/** Whether a hit comes from a machine. */
export interface HitJudgement {
  bot: boolean
  /** The slug of the strongest sign; null for people. */
  reason: string | null
  /** How likely it is a machine, 0 to 0.99; a machine from 0.5. */
  confidence: number
}

export const isClick = (hit: Hit): boolean => hit.what.startsWith('click:')
