import { Resend } from 'resend'
import { expect, test, vi } from 'vitest'
import { picture, startClientRelay } from '../../support/client-relay.ts'
import { done, refused, resendClient } from '../../support/resend-client.ts'

const hello = { from: 'App <app@sender.example>', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello there' }

test('an email with all that it may have arrives as it was meant, and is read back', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  const { id } = done(
    await emails.send({
      ...hello,
      to: ['Ann <ann@inbox.example>', 'bob@inbox.example'],
      cc: 'cc@inbox.example',
      bcc: ['bcc@inbox.example'],
      replyTo: ['help@sender.example'],
      html: '<p>Hello <img src="cid:dot"></p>',
      headers: { 'X-Campaign': 'spring' },
      tags: [{ name: 'kind', value: 'welcome' }],
      attachments: [
        { filename: 'report.txt', content: Buffer.from('the report'), contentType: 'text/plain' },
        { filename: 'dot.png', content: picture, contentId: 'dot' },
      ],
    }),
  )
  const mail = await relay.received('ann@inbox.example')
  expect({ from: mail.from?.text, replyTo: mail.replyTo?.text, subject: mail.subject, text: mail.text?.trim() }).toEqual({
    from: '"App" <app@sender.example>',
    replyTo: 'help@sender.example',
    subject: 'Hello',
    text: 'Hello there',
  })
  expect(mail.headers.get('x-campaign')).toBe('spring')
  expect(mail.headers.has('dkim-signature')).toBe(true)
  expect(
    mail.attachments.map(({ filename, contentType, cid, content }) => [filename, contentType, cid, content.toString('base64')]),
  ).toEqual(
    expect.arrayContaining([
      ['report.txt', 'text/plain', undefined, Buffer.from('the report').toString('base64')],
      ['dot.png', 'image/png', 'dot', picture],
    ]),
  )
  for (const name of ['bob', 'cc', 'bcc']) await relay.received(`${name}@inbox.example`)
  await expect.poll(async () => done(await emails.get(id)).last_event).toBe('delivered')
  expect(done(await emails.get(id))).toMatchObject({
    object: 'email',
    id,
    message_id: mail.messageId,
    from: 'App <app@sender.example>',
    to: ['Ann <ann@inbox.example>', 'bob@inbox.example'],
    cc: ['cc@inbox.example'],
    bcc: ['bcc@inbox.example'],
    reply_to: ['help@sender.example'],
    subject: 'Hello',
    html: expect.stringContaining('cid:dot'),
    tags: [{ name: 'kind', value: 'welcome' }],
    scheduled_at: null,
  })
  expect((await relay.record(id)).source).toBe('api')
})

test('an idempotency key sends once', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  const first = done(await emails.send(hello, { idempotencyKey: 'order-1' }))
  expect(done(await emails.send(hello, { idempotencyKey: 'order-1' }))).toEqual(first)
  expect(refused(await emails.send({ ...hello, subject: 'Other' }, { idempotencyKey: 'order-1' }))).toMatchObject({
    name: 'invalid_idempotent_request',
    statusCode: 409,
  })
  expect(await relay.emails()).toHaveLength(1)
})

test('a batch is sent whole, or as far as it can be', async () => {
  const relay = await startClientRelay()
  const { batch } = resendClient(relay)
  const mixed = [hello, { ...hello, to: 'nobody' }, { ...hello, to: 'bob@inbox.example' }]
  expect(refused(await batch.send(mixed))).toMatchObject({ statusCode: 422, errors: [{ field: '1.to' }] })
  expect(await relay.emails()).toEqual([])
  const { data, errors } = done(await batch.send(mixed, { batchValidation: 'permissive' }))
  expect(data).toHaveLength(2)
  expect(errors).toEqual([expect.objectContaining({ index: 1, message: expect.stringContaining('`to`') })])
  await relay.received('ann@inbox.example')
  await relay.received('bob@inbox.example')
  const sent = done(
    await batch.send([
      { ...hello, to: 'cc@inbox.example' },
      { ...hello, to: 'dd@inbox.example' },
    ]),
  )
  expect((await relay.record(sent.data[1]?.id as string)).to).toEqual(['dd@inbox.example'])
})

test('a scheduled email is moved, canceled and not sent', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  const at = (hours: number): string => new Date(relay.clock.now() + hours * 3_600_000).toISOString()
  const { id } = done(await emails.send({ ...hello, scheduledAt: at(1) }))
  expect(done(await emails.get(id))).toMatchObject({ last_event: 'scheduled', scheduled_at: at(1) })
  expect(done(await emails.update({ id, scheduledAt: at(2) }))).toEqual({ object: 'email', id })
  expect(done(await emails.get(id)).scheduled_at).toBe(at(2))
  expect(done(await emails.cancel(id))).toEqual({ object: 'email', id })
  expect(done(await emails.get(id)).last_event).toBe('canceled')
  expect(done(await emails.cancel(id))).toEqual({ object: 'email', id })
  expect(refused(await emails.update({ id, scheduledAt: at(3) }))).toMatchObject({ name: 'invalid_state', statusCode: 409 })
  expect(relay.mx.messages).toEqual([])
})

test('emails are listed page by page', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  const ids: string[] = []
  for (const name of ['ann', 'bob', 'eve']) ids.unshift(done(await emails.send({ ...hello, to: `${name}@inbox.example` })).id)
  const first = done(await emails.list({ limit: 2 }))
  expect({ ids: first.data.map(({ id }) => id), more: first.has_more }).toEqual({ ids: ids.slice(0, 2), more: true })
  const second = done(await emails.list({ limit: 2, after: ids[1] as string }))
  expect({ ids: second.data.map(({ id }) => id), more: second.has_more }).toEqual({ ids: ids.slice(2), more: false })
})

test('attachments are listed', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  const { id } = done(await emails.send({ ...hello, attachments: [{ filename: 'report.txt', content: Buffer.from('the report') }] }))
  const [attachment] = done(await emails.attachments.list({ emailId: id })).data
  expect(attachment).toMatchObject({ filename: 'report.txt', content_type: 'text/plain' })
  const { download_url: url } = done(await emails.attachments.get({ emailId: id, id: attachment?.id as string }))
  const file = await fetch(`${relay.baseUrl}${new URL(url).pathname}`, { headers: { authorization: `Bearer ${relay.token}` } })
  expect(await file.text()).toBe('the report')
})

test('metrics count what was delivered', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  done(await emails.send({ ...hello, to: ['ann@inbox.example', 'bob@inbox.example'] }))
  await relay.received('ann@inbox.example')
  const range = {
    startDate: new Date(relay.clock.now() - 86_400_000).toISOString(),
    endDate: new Date(relay.clock.now() + 3_600_000).toISOString(),
  }
  const read = async () => done(await emails.metrics({ ...range, metrics: ['sent', 'delivered', 'delivery_rate'], dimensions: ['domain'] }))
  await expect.poll(async () => (await read()).totals).toEqual({ sent: 2, delivered: 2, delivery_rate: 1 })
  expect(await read()).toMatchObject({ object: 'metrics', data: [{ domain_name: 'sender.example', sent: 2 }] })
})

test('the environment alone says where to send', async () => {
  const relay = await startClientRelay()
  vi.stubEnv('RESEND_BASE_URL', `${relay.baseUrl}/api`)
  vi.stubEnv('RESEND_API_KEY', relay.token)
  done(await new Resend().emails.send(hello))
  await relay.received('ann@inbox.example')
})

test('what is refused is told by name, status and message', async () => {
  const relay = await startClientRelay()
  const { emails } = resendClient(relay)
  expect(refused(await emails.send({ ...hello, to: 'two@at@inbox.example' }))).toMatchObject({ name: 'validation_error', statusCode: 422 })
  expect(refused(await emails.send({ ...hello, from: 'app@elsewhere.example' }))).toMatchObject({
    name: 'domain_not_verified',
    statusCode: 403,
  })
  expect(refused(await emails.send({ ...hello, attachments: [{ filename: 'a.txt', content: 'plain text!' }] }))).toMatchObject({
    name: 'invalid_attachment',
    statusCode: 422,
  })
  expect(refused(await emails.get('em_00000000000000000000000000'))).toMatchObject({ name: 'not_found', statusCode: 404 })
  expect(refused(await resendClient(relay, 'wrong').emails.send(hello))).toMatchObject({ name: 'invalid_api_key', statusCode: 401 })
  expect(await relay.emails()).toEqual([])
})
