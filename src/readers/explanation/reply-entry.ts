import type { BounceCategory, RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import type { CauseCode } from './causes.ts'
import type { WideEffect } from './wide-effect.ts'

/** What is known of one kind of reply. It fits if all its conditions do. A code alone decides only at the end: most have several meanings. */
export interface ReplyEntry {
  /** Stays, because it is shown. */
  id: string
  /** As `mxProviderOf` names it; for words that others use in another sense. */
  provider?: string
  /** `report` stands for a phase that is not known. */
  phases?: readonly RefusalPhase[]
  /** The enhanced status code, if the server gave one. */
  status?: RegExp
  /** What the text says, without its codes. No part of it may repeat without a bound, so that a hostile text takes no longer. */
  words?: RegExp
  /** What `BounceRules` make of the reply, which know the wordings of many languages. */
  category?: BounceCategory
  /** The code of the reply, the first digit of it, or several codes. */
  code?: number | readonly number[]
  cause: CauseCode
  effect?: WideEffect
  /** One such reply is enough to send nothing for so long. */
  stopMinutes?: number
  /** Only the provider itself gives such a status; words alone may be those of a domain that it serves. */
  ownStatus?: RegExp
  /** The provider's page about it, or where to ask. */
  page?: string
}

/** Where to look up, and take off, an address or a domain that Spamhaus lists. */
export const spamhausPage = 'https://check.spamhaus.org/'
