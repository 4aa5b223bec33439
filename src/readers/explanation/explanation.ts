import type { SuppressionOrigin } from '../../mail/suppression/suppression-origin.ts'
import { causes, type Cause, type CauseCode, type ExplanationOwner } from './causes.ts'
import type { ReplyEntry } from './reply-entry.ts'
import type { WideEffect } from './wide-effect.ts'

/** What to do about a suppressed address, by what put it on the list; `removed` where it is on it no more. */
export const adviceAboutSuppressions = {
  suppressed_bounce: 'Ask the recipient for an address that works. If this one works again, remove the entry and send again.',
  suppressed_complaint: 'Send them no more, unless they ask for it. Then remove the entry.',
  suppressed_unsubscribe: 'Send them no more of this mail, unless they subscribe again. Then remove the entry.',
  suppressed_manual: 'If the recipient wants your mail, remove the entry and send again.',
  suppressed_no_more: 'The entry is gone from the list: you can send the email again.',
} as const

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
  /** What is known of the reply: an id in `replyEntries`; null if only its codes are understood, or there was none. */
  entry: string | null
  /** What it means for other mail to that provider; null: nothing. */
  effect: WideEffect | null
  /** The provider's page about it, or where to ask; null if there is none. */
  link: string | null
}

/** @param isOver whether Sterna tries no more @param known what is known of the reply */
export function explanationOf(code: CauseCode, isOver: boolean, known?: ReplyEntry): Explanation {
  const { owner, what, advice, passes }: Cause = causes[code]
  const about = isOver ? 'given_up' : 'retried'
  const codes: AdviceCode[] = [...(passes ? [about as AdviceCode] : []), ...(advice === undefined ? [] : [code])]
  const sentences = [...(passes ? [adviceAboutRetries[about]] : []), ...(advice === undefined ? [] : [advice])]
  const { id: entry = null, effect = null, page: link = null } = known ?? {}
  return { code, cause: what, owner, adviceCodes: codes, advice: sentences.join(' '), entry, effect, link }
}

/** Why a suppressed recipient got nothing. @param origin of the entry that is in force; null if there is none any more */
export function explanationOfSuppression(origin: SuppressionOrigin | null): Explanation {
  const code = `suppressed_${origin ?? 'no_more'}` as const
  return { ...explanationOf('suppressed', true), adviceCodes: [code], advice: adviceAboutSuppressions[code] }
}
