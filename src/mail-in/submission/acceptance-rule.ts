import { ConflictError, type Guard, type Statement, type Written } from '../../platform/store/database.ts'
import type { DraftedMail } from './admission.ts'

/** What must be true of mail at the moment when it is written: a condition in its batch. */
export interface AcceptanceRule {
  /** That of its statements. */
  guard: Guard
  /** The condition, and what keeps it true from then on, ahead of the mail in the same batch. */
  statements(mail: DraftedMail): Statement[]
  /** What came of the statements, once the mail is on disk. */
  onWritten?(written: Written[]): void
  /** The condition was not met, and nothing was written. Throws the refusal, or returns if the mail is to be drafted anew. */
  onConflict(cause: ConflictError): Promise<void> | void
}

/**
 * Writes mail if all the rules allow it. `draft` says what the mail comes to as things stand, and `write` writes a draft in one batch with
 * what the rules put ahead of it.
 * @throws what a rule refuses with; what `write` throws
 */
export async function writeByRules<Draft extends DraftedMail>(
  rules: readonly AcceptanceRule[],
  draft: () => Draft | Promise<Draft>,
  write: (mail: Draft, ahead: Statement[]) => Promise<Written[]>,
): Promise<Draft> {
  for (;;) {
    const mail = await draft()
    const ahead: Statement[] = []
    const ends = rules.map((rule) => ahead.push(...rule.statements(mail)))
    try {
      const written = await write(mail, ahead)
      rules.forEach((rule, place) => rule.onWritten?.(written.slice(place === 0 ? 0 : ends[place - 1], ends[place])))
      return mail
    } catch (error) {
      const broken = error instanceof ConflictError ? rules.find(({ guard }) => guard === error.guard) : undefined
      if (!broken) throw error
      await broken.onConflict(error as ConflictError)
    }
  }
}
