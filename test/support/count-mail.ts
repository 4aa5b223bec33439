import { ConflictError, type Database } from '../../src/platform/store/database.ts'
import type { CountedMail, MailQuotas } from '../../src/senders/account/mail-quotas.ts'
import type { QuotaSource } from '../../src/senders/account/quota-statements.ts'

/** Counts mail as it is accepted. @throws what refuses it */
export async function countMail(quotas: MailQuotas, db: Pick<Database, 'write'>, mail: CountedMail): Promise<void> {
  for (let from: QuotaSource | undefined; ;) {
    const count = quotas.count(mail, from)
    try {
      return count?.onWritten(await db.write(count.statements))
    } catch (error) {
      if (!count || !(error instanceof ConflictError)) throw error
      from = await count.next(error)
    }
  }
}
