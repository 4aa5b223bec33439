import type { BaseServices } from '../../platform/base-services.ts'
import type { Submitter } from '../../mail/message/submission.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import type { OtherForms, IsSuppressed } from '../../mail/suppression/suppression-list.ts'
import type { FreshSlot } from '../../mail-out/queue/handoff-limit.ts'
import type { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import { firstOfLanes } from '../../mail-out/queue/waiting-lanes.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { MailQuotas } from '../../senders/account/mail-quotas.ts'
import { writeByRules, type AcceptanceRule } from './acceptance-rule.ts'
import { draftEmail, emailStatements, logSuppressedOf, type Admission, type DraftedEmail, type DraftedMail } from './admission.ts'
import type { AuthoriseServices } from './authorise.ts'
import { idempotencyRule, type IdempotencyKeys, type Remember } from './idempotency-keys.ts'
import { hasQuota, quotaRule } from './quota-rule.ts'
import { suppressionRule } from './suppression-rule.ts'
import type { SlowedMail } from './slowed-mail.ts'
import type { Upload, Uploads } from './upload.ts'
import type { UrgentMail } from './urgent-mail.ts'

export interface AcceptServices extends Pick<BaseServices, 'db' | 'clock' | 'changes' | 'log' | 'metrics'>, AuthoriseServices {
  queue: QueueRunner
  uploads: Uploads
  idempotencyKeys: IdempotencyKeys
  erasedAddress: ErasedAddress
  otherForms: OtherForms
  quotas: Pick<MailQuotas, 'count' | 'isCounted'>
  urgentMail: Pick<UrgentMail, 'ranked'>
  slowedMail: Pick<SlowedMail, 'take'>
  /** How long to retry a recipient if the submission does not say, ms. */
  giveUpAfterMs: number
}

/** Authorised messages of one submitter, and how they are written. */
interface Admitted<Answer extends object> {
  submitter: Submitter
  admissions: Admission[]
  upload: Upload
  /** Null if it came without an idempotency key. */
  remember: Remember | null
  alsoWrite: Statement[]
  answerOf(emails: DraftedEmail[]): Answer
}

interface Draft<Answer> extends DraftedMail {
  emails: DraftedEmail[]
  answer: Answer & object
  statements: Statement[]
  /** If it is due at once and fits into memory, it continues without being read back. */
  slot: FreshSlot | null
}

/** A batch may have five thousand recipients, so other connections get their turn in between. */
const recipientsAtOnce = 500

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Writes messages by the rules, all in one batch, and hands them to the queue. */
export async function admit<Answer extends object>(mail: Admitted<Answer>, services: AcceptServices): Promise<Answer> {
  const { submitter, admissions, upload, remember, alsoWrite } = mail
  const { clock, queue, quotas, log, metrics } = services
  const submissions = admissions.map(({ submission }) => submission)
  const slowed = services.slowedMail.take(submitter, submissions)
  if (slowed) await slowed
  if (upload.isLarge(submissions)) await upload.storeAhead(submissions)
  const suppression = suppressionRule(submissions, { submitter, now: clock.now() }, services)
  const rules: AcceptanceRule[] = [suppression]
  if (remember) rules.unshift(idempotencyRule(remember))
  if (hasQuota(submitter, admissions, quotas)) rules.push(quotaRule(quotas))
  const draft = () => draftAll(mail, suppression.isSuppressed, services)
  const { emails, slot, answer } = await writeByRules(rules, draft, async (drafted, ahead) => {
    try {
      return await upload.complete(submissions, [...ahead, ...drafted.statements, ...alsoWrite])
    } catch (error) {
      drafted.slot?.release()
      throw error
    }
  })
  handOver(emails, slot, queue)
  for (const email of emails) {
    logSuppressedOf(email, log)
    metrics.accepted[email.submission.source].add()
  }
  return answer
}

async function draftAll<Answer extends object>(
  { admissions, answerOf }: Admitted<Answer>,
  isSuppressed: IsSuppressed,
  { queue, giveUpAfterMs }: AcceptServices,
): Promise<Draft<Answer>> {
  const emails: DraftedEmail[] = []
  const statements: Statement[] = []
  let slot: FreshSlot | null = null
  let heldUp = 0
  for (const admission of admissions) {
    const email = draftEmail(admission, isSuppressed, giveUpAfterMs)
    // Several would fill the memory that single messages pass through.
    if (admissions.length === 1 && isFresh(email)) slot = await reserveSlot(email, queue)
    if (slot) for (const recipient of email.waiting) recipient.owner = queue.owner
    emails.push(email)
    statements.push(...emailStatements(email))
    heldUp += email.recipients.length
    if (heldUp < recipientsAtOnce) continue
    heldUp = 0
    await yieldToEventLoop()
  }
  return { emails, statements, slot, answer: answerOf(emails) }
}

/** Mail of low priority leaves the room to others, and waits its turn in the queue (RFC 6710). */
const isFresh = ({ submission: { content, options }, waiting }: DraftedEmail): boolean =>
  waiting[0]?.state === 'queued' && content.stored === 0 && content.pending.length === 1 && (options.transfer?.priority ?? 0) >= 0

const reserveSlot = ({ submission, waiting }: DraftedEmail, queue: QueueRunner) => queue.reserve(waiting, submission.content.size)

function handOver(emails: DraftedEmail[], slot: FreshSlot | null, queue: QueueRunner): void {
  const [only] = emails
  if (slot && only) return queue.deliverFresh(only.message, only.waiting, only.submission.content, slot)
  // Nobody reads it once it is stored.
  for (const { submission } of emails) submission.content.loan?.giveBack()
  for (const recipient of firstOfLanes(emails.flatMap(({ waiting }) => waiting))) queue.noteWaiting(recipient, recipient.due_at)
}
