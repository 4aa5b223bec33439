import { aloneAs } from '../../src/platform/store/only-node.ts'
import { expect, onTestFinished } from 'vitest'
import type { Attempt, Outcome, Postponed, DeliveryJob } from '../../src/mail-out/delivery/attempt.ts'
import { EmailComposer } from '../../src/api/resource/email-composer.ts'
import { emailOperations } from '../../src/api/resource/email-operations.ts'
import type { SendServices } from '../../src/api/resource/send-emails.ts'
import { previewOperations } from '../../src/api/resource/preview-operations.ts'
import { templateOperations } from '../../src/api/resource/template-operations.ts'
import type { Operation } from '../../src/api/operation/operation.ts'
import { Previews } from '../../src/api/resource/previews.ts'
import { silentLog } from '../../src/platform/log.ts'
import { QueueRunner } from '../../src/mail-out/queue/queue-runner.ts'
import { WaitingMail } from '../../src/mail-out/queue/waiting-mail.ts'
import { openIntake, type Intake } from '../../src/mail-in/submission/intake.ts'
import { Uploads } from '../../src/mail-in/submission/upload.ts'
import { WebhookPoster } from '../../src/notify/webhook/post-webhook.ts'
import { accountPolicies } from './account-policies.ts'
import { recipientsInHand } from './queued-mail.ts'
import { startApiServer, type ApiAnswer, type ApiServices, type ApiServer, type RequestOptions } from './api-server.ts'
import { fakeResolver } from './fake-resolver.ts'
import { fileMessageParser } from './file-message-parser.ts'
import { plainEnvelope } from './plain-envelope.ts'
import { unsubscribeContext } from './submission-fixture.ts'
import { testReprieve } from './test-reprieve.ts'

const minute = 60_000
const taken: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: '2.0.0', text: 'Ok' } }

/** The id of `sender.example`. */
export const senderDomainId = `dom_${'0'.repeat(26)}`

export interface EmailApi extends ApiServer {
  /** What the next attempts come to, by forward-path; others are taken. */
  outcomes: Map<string, Outcome[]>
  /** The messages as they were handed to delivery. */
  delivered: DeliveryJob[]
  /** A live key with full access. */
  key: string
  send(email: object | string, options?: RequestOptions): Promise<ApiAnswer>
  get(path: string, token?: string): Promise<ApiAnswer>
  /** Waits until no recipient is in hand. */
  idle(): Promise<void>
}

/**
 * The endpoints of emails and templates before the real door, store and queue; `sender.example` is verified for every account. `hold` is
 * waited for before each attempt.
 */
export async function startEmailApi(options: { messageSizeLimit?: number; hold?: () => Promise<void> } = {}): Promise<EmailApi> {
  const outcomes = new Map<string, Outcome[]>()
  const delivered: DeliveryJob[] = []
  let queue: QueueRunner | undefined
  const operations = (services: ApiServices): Operation[] => {
    const { db, clock, templates } = services
    const runner = (queue = queueFor(services, outcomes, delivered, options.hold))
    const intake = intakeOf(services, runner)
    const messageSizeLimit = options.messageSizeLimit ?? 25 * 1024 * 1024
    const composer = new EmailComposer({
      clock,
      log: silentLog,
      templates: templates.live,
      messageSizeLimit,
      unsubscribe: () => unsubscribeContext,
    })
    onTestFinished(() => composer.stop())
    const send: SendServices = { composer, accept: intake.accept, acceptBatch: intake.acceptBatch }
    const linkVisitor = new WebhookPoster({ resolver: fakeResolver({}) }, { allowPrivateAddresses: true, timeoutMs: 5_000 })
    onTestFinished(() => linkVisitor.close())
    const waitingMail = new WaitingMail({ db, clock, noteWaiting: (lane, dueAt) => runner.noteWaiting(lane, dueAt) })
    const all = { ...services, ...send, messageParser: fileMessageParser(), linkVisitor, resend: intake.resend, waitingMail }
    return [
      ...emailOperations(all as unknown as Parameters<typeof emailOperations>[0]),
      ...previewOperations({ ...all, previews: new Previews(services) }),
      ...templateOperations(all),
    ]
  }
  const api = await startApiServer(operations)
  await queue?.start()
  onTestFinished(() => queue?.stop(5_000))
  const key = await api.token()
  return {
    ...api,
    outcomes,
    delivered,
    key,
    send: (email, more) => api.request('POST', '/api/send', { token: key, body: email, ...more }),
    get: (path, token = key) => api.request('GET', path, { token }),
    async idle() {
      await expect.poll(() => recipientsInHand(api.db)).toEqual([])
    },
  }
}

const intakeOf = (services: ApiServices, queue: QueueRunner): Intake =>
  openIntake({
    ...services,
    queue,
    uploads: new Uploads({ ...services, owner: 'node_1', space: { require: () => {} } }),
    urgentMail: { ranked: (submission) => submission },
    slowedMail: { take: () => undefined },
    verifiedDomainFor: (_, name) =>
      name === 'sender.example' ? { id: senderDomainId, name, tracking: { opens: false, clicks: false } } : null,
    giveUpAfterMs: 48 * 60 * minute,
  })

const queueFor = (services: ApiServices, outcomes: Map<string, Outcome[]>, delivered: DeliveryJob[], hold = async () => {}): QueueRunner =>
  new QueueRunner(
    {
      ...services,
      nodes: aloneAs('node_1'),
      choicesFor: () => null,
      isResolverSuspect: () => false,
      isSuspended: () => false,
      holdsMail: () => false,
      reprieve: testReprieve(services.db, services.clock),
      policies: accountPolicies(services.db, { delivery: { retrySchedule: [minute, 5 * minute] } }),
      random: () => 0,
      envelopeFor: () => ({
        ...plainEnvelope,
        envelopeOf: ({ id }) => ({ reversePath: `b${id}@relay.example`, traceFields: '', fields: [] }),
      }),
      async deliver(job: DeliveryJob, onAttempt: (result: Attempt | Postponed) => void) {
        delivered.push(job)
        await hold()
        for (const { id, forwardPath } of job.recipients) onAttempt(attemptFor(id, outcomes.get(forwardPath)?.shift() ?? taken))
      },
    },
    {
      giveUpAfterMs: 48 * 60 * minute,
    },
  )

const attemptFor = (recipientId: string, outcome: Outcome): Attempt => ({
  recipientId,
  outcome,
  durationMs: 5,
  mxHost: 'mx.example',
  address: '192.0.2.1',
  sourceAddress: null,
  tls: '{"version":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","verified":true,"group":"X25519MLKEM768"}',
  transport: 'verified',
  selectors: ['s1', 's2'],
  transcript: '[[0,"s","220 mx.example"],[1,"c","EHLO mail.example.com"]]',
})
