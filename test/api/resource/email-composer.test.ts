import { expect, onTestFinished, test } from 'vitest'
import { EmailComposer } from '../../../src/api/resource/email-composer.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { LiveTemplates } from '../../../src/mail/template/live-templates.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { startedThreads } from '../../support/started-threads.ts'
import { unsubscribeContext } from '../../support/submission-fixture.ts'

const submitter = { accountId: 'acc_1', domainId: null, sandbox: false }
const request = { submitter, source: 'api' as const, isStrict: true, idempotencyKey: 'k' }
const email = {
  from: 'App <app@sender.example>',
  to: ['a@x.example', 'B <b@x.example>'],
  subject: 'Größe',
  tags: [{ name: 'a', value: 'b' }],
}

function startComposer(messageSizeLimit = 25 * 1024 * 1024): EmailComposer {
  const composer = new EmailComposer({
    clock: settableClock(),
    log: silentLog,
    templates: new LiveTemplates({ read: async () => [] }, aloneWithChanges),
    messageSizeLimit,
    unsubscribe: () => unsubscribeContext,
  })
  onTestFinished(() => composer.stop())
  return composer
}

const bodyOf = (fields: object): Buffer => Buffer.from(JSON.stringify({ ...email, ...fields }))
const large = 'x'.repeat(100_000)

test('a large request makes the same submission on its thread as a small one here', async () => {
  const composer = startComposer()
  const [small, big] = await Promise.all(['x', large].map((html) => composer.submissionFrom(bodyOf({ html, text: '' }), request)))
  const own = {
    id: expect.any(String),
    header: { ...small?.header, messageIdHeader: expect.stringMatching(/@sender\.example>$/) },
    content: expect.anything(),
    idempotency: expect.anything(),
  }
  expect(big).toEqual({ ...small, ...own })
  expect(big?.idempotency).toMatchObject({ operation: 'send', key: 'k' })
  expect(big?.idempotency?.fingerprint).not.toBe(small?.idempotency?.fingerprint)
  expect(big?.content.pending[0]?.buffer).toBeInstanceOf(SharedArrayBuffer)
  expect(
    Buffer.concat(big?.content.pending ?? [])
      .toString()
      .replaceAll('=\r\n', ''),
  ).toContain(large)
})

test('a request of middling size does not wait for the large ones of others', async () => {
  const composer = startComposer()
  const ended: string[] = []
  const compose = (name: string, html: string): Promise<unknown> =>
    composer.submissionFrom(bodyOf({ html }), request).then(() => ended.push(name))
  await Promise.all([compose('first large', large), compose('second large', large), compose('middling', 'x'.repeat(20_000))])
  expect(ended[0]).toBe('middling')
  expect(ended).toHaveLength(3)
})

test('a large request that is refused tells what is wrong with it, and the next one is taken', async () => {
  const composer = startComposer(250_000)
  const refused = composer.submissionFrom(bodyOf({ html: large, to: ['nobody'], colour: 1 }), request)
  const tooLarge = composer.submissionFrom(bodyOf({ html: large.repeat(3) }), request)
  await expect(refused).rejects.toMatchObject({ code: 'validation_error', faults: [{ field: 'colour', code: 'unknown_field' }] })
  await expect(tooLarge).rejects.toMatchObject({ code: 'payload_too_large' })
  await expect(composer.submissionFrom(Buffer.from(`{"a":"${large}"`), request)).rejects.toMatchObject({ code: 'invalid_json' })
  await expect(composer.submissionFrom(bodyOf({ html: large }), request)).resolves.toMatchObject({ header: { subject: 'Größe' } })
})

test('a request whose thread ends is to be tried again, and those behind it get another thread', async () => {
  const threads = startedThreads()
  const composer = startComposer()
  const [first, second] = [1, 2].map(() => composer.submissionFrom(bodyOf({ html: large }), request))
  // Node tells of a new thread in the next turn, long before it runs.
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([threads.at(-1)?.terminate(), expect(first).rejects.toMatchObject({ code: 'service_unavailable' })])
  await expect(second).resolves.toMatchObject({ header: { subject: 'Größe' } })
  await expect(composer.submissionFrom(bodyOf({ html: large }), request)).resolves.toMatchObject({ header: { subject: 'Größe' } })
})

test('what waits when the server stops is refused', async () => {
  const composer = startComposer()
  const waiting = [1, 2].map(() => composer.submissionFrom(bodyOf({ html: large }), request))
  const all = expect(Promise.allSettled(waiting)).resolves.toMatchObject([
    { reason: { code: 'service_unavailable' } },
    { reason: { code: 'service_unavailable' } },
  ])
  await composer.stop()
  await all
  await expect(composer.submissionFrom(bodyOf({ html: large }), request)).rejects.toMatchObject({ code: 'service_unavailable' })
})

test('a batch whose messages are too large together is refused whole', async () => {
  const composer = startComposer()
  const emails = Array.from({ length: 30 }, () => ({ ...email, html: 'x'.repeat(4_000_000), text: '' }))
  await expect(composer.batchFrom(emails, request)).rejects.toMatchObject({
    code: 'payload_too_large',
    message: expect.stringContaining('105 MiB'),
  })
  expect((await composer.batchFrom(emails.slice(0, 3), request)).items).toHaveLength(3)
})

test('an object that a door has made is an email like any other, large ones too, with keys of their own', async () => {
  const composer = startComposer()
  const door = { ...request, source: 'compat' as const, submitter: { ...submitter, sandbox: true } }
  for (const html of ['x', large]) {
    const [byJson, byObject] = await Promise.all([
      composer.submissionFrom(bodyOf({ html, text: '' }), request),
      composer.submissionFrom({ ...email, html, text: '' }, door),
    ])
    const own = {
      id: expect.any(String),
      header: { ...byJson.header, messageIdHeader: expect.any(String) },
      content: expect.objectContaining({ size: byJson.content.size }),
    }
    expect(byObject).toEqual({
      ...byJson,
      ...own,
      source: 'compat',
      submitter: door.submitter,
      idempotency: { ...byJson.idempotency, operation: 'sandbox-compat-send', fingerprint: expect.any(String) },
    })
    const { items, idempotency } = await composer.batchFrom([{ ...email, html }, 'x', { ...email, html, to: 'nobody' }], door)
    expect(items).toMatchObject([{ source: 'compat' }, { code: 'invalid_json' }, { code: 'validation_error', faults: [{ field: 'to' }] }])
    expect(idempotency).toMatchObject({ operation: 'sandbox-compat-send-batch', key: 'k' })
  }
})
