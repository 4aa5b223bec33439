import { expect, test } from 'vitest'
import { startClientRelay, trackedIn } from '../../support/client-relay.ts'
import { done, refused, resendClient } from '../../support/resend-client.ts'
import { startReceiver, status } from '../../support/webhook-receiver.ts'

const hello = { from: 'App <app@sender.example>', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello there' }

test('domains', async () => {
  const { domains } = resendClient(await startClientRelay())
  const made = done(await domains.create({ name: 'news.example', region: 'eu-west-1', customReturnPath: 'bounce', tls: 'enforced' }))
  expect(made).toMatchObject({ name: 'news.example', status: 'not_started', region: 'self-hosted' })
  expect(made.records.map(({ record }) => record)).toEqual(expect.arrayContaining(['DKIM', 'SPF']))
  expect(done(await domains.get(made.id))).toMatchObject({ object: 'domain', id: made.id, name: 'news.example' })
  expect(
    done(await domains.list())
      .data.map(({ name }) => name)
      .toSorted(),
  ).toEqual(['news.example', 'sender.example'])
  expect(done(await domains.update({ id: made.id, tls: 'opportunistic' }))).toEqual({ object: 'domain', id: made.id })
  expect(done(await domains.verify(made.id))).toEqual({ object: 'domain', id: made.id })
  expect(refused(await domains.create({ name: 'news.example' }))).toMatchObject({ name: 'domain_exists', statusCode: 409 })
  expect(done(await domains.remove(made.id))).toEqual({ object: 'domain', id: made.id, deleted: true })
  expect(refused(await domains.get(made.id))).toMatchObject({ name: 'not_found', statusCode: 404 })
})

test('API keys', async () => {
  const relay = await startClientRelay()
  const { apiKeys } = resendClient(relay)
  const { id, token } = done(await apiKeys.create({ name: 'shop', permission: 'sending_access' }))
  const shop = resendClient(relay, token)
  done(await shop.emails.send(hello))
  expect(refused(await shop.apiKeys.list())).toMatchObject({ name: 'restricted_api_key', statusCode: 403 })
  expect(done(await apiKeys.list()).data).toEqual(expect.arrayContaining([expect.objectContaining({ id, name: 'shop' })]))
  done(await apiKeys.update(id, { name: 'shop 2' }))
  expect(done(await apiKeys.list()).data.find((key) => key.id === id)?.name).toBe('shop 2')
  done(await apiKeys.remove(id))
  expect(refused(await shop.emails.send(hello))).toMatchObject({ statusCode: 401 })
})

test('suppressions', async () => {
  const relay = await startClientRelay()
  const { suppressions, emails } = resendClient(relay)
  const email = 'gone+1@inbox.example'
  const { id } = done(await suppressions.add({ email }))
  expect(done(await suppressions.get(email))).toMatchObject({ object: 'suppression', id, email, origin: 'manual', source_id: null })
  const { data } = done(await suppressions.batch.add({ emails: ['left@inbox.example', 'moved@inbox.example'] }))
  expect(data).toHaveLength(2)
  expect(done(await suppressions.list({ origin: 'manual' })).data).toHaveLength(3)
  const sent = done(await emails.send({ ...hello, to: email }))
  expect(done(await emails.get(sent.id)).last_event).toBe('suppressed')
  expect(done(await suppressions.remove(email))).toEqual({ object: 'suppression', id, deleted: true })
  expect(
    done(await suppressions.batch.remove({ emails: ['left@inbox.example', 'moved@inbox.example'] })).data.every(({ deleted }) => deleted),
  ).toBe(true)
  expect(done(await suppressions.list()).data).toEqual([])
})

test('webhooks, with the client checking what a receiver got', async () => {
  const relay = await startClientRelay()
  // The client looks at the time, and the relay's clock stands still elsewhere.
  relay.clock.set(Date.now())
  const receiver = await startReceiver(status(200))
  const { webhooks, emails } = resendClient(relay)
  const { id, signing_secret: secret } = done(await webhooks.create({ endpoint: receiver.url, events: ['email.sent', 'email.delivered'] }))
  expect(done(await webhooks.get(id))).toMatchObject({
    object: 'webhook',
    id,
    endpoint: receiver.url,
    status: 'enabled',
    signing_secret: secret,
  })
  expect(done(await webhooks.list()).data.map((webhook) => webhook.id)).toEqual([id])
  const sent = done(await emails.send(hello))
  await expect.poll(() => receiver.posts.length).toBe(2)
  const told = receiver.posts.map(({ headers, body }) =>
    webhooks.verify({
      payload: body,
      webhookSecret: secret,
      headers: {
        id: headers['webhook-id'] as string,
        timestamp: headers['webhook-timestamp'] as string,
        signature: headers['webhook-signature'] as string,
      },
    }),
  )
  expect(told.map(({ type }) => type).toSorted()).toEqual(['email.delivered', 'email.sent'])
  expect(told.map(({ data }) => ('email_id' in data ? data.email_id : null))).toEqual([sent.id, sent.id])
  const [event] = done(await webhooks.events.list({ webhookId: id })).data
  const at = { webhookId: id, eventId: event?.id as string }
  await expect.poll(async () => done(await webhooks.events.get(at)).status).toBe('success')
  expect(done(await webhooks.events.attempts.list(at)).data).toMatchObject([{ http_status_code: 200 }])
  done(await webhooks.events.replay(at))
  await expect.poll(() => receiver.posts.length).toBe(3)
  expect(done(await webhooks.rotateSigningSecret(id)).signing_secret).not.toBe(secret)
  expect(done(await webhooks.update(id, { status: 'disabled' }))).toMatchObject({ object: 'webhook', id })
  expect(done(await webhooks.get(id)).status).toBe('disabled')
  expect(done(await webhooks.remove(id))).toMatchObject({ object: 'webhook', id, deleted: true })
})

test('templates', async () => {
  const relay = await startClientRelay()
  const { templates, emails } = resendClient(relay)
  const made = done(
    await templates
      .create({
        name: 'Welcome',
        alias: 'welcome',
        from: 'App <app@sender.example>',
        subject: 'Welcome, {{name}}',
        html: '<p>Dear {{name}}, you have {{count}} coins.</p>',
        variables: [
          { key: 'name', type: 'string' },
          { key: 'count', type: 'number', fallbackValue: 3 },
        ],
      })
      .publish(),
  )
  expect(done(await templates.get('welcome'))).toMatchObject({ object: 'template', id: made.id, status: 'published', alias: 'welcome' })
  done(await emails.send({ to: 'ann@inbox.example', template: { id: 'welcome', variables: { name: 'Ann <3' } } }))
  const mail = await relay.received('ann@inbox.example')
  expect({ subject: mail.subject, html: mail.html }).toEqual({
    subject: 'Welcome, Ann <3',
    html: expect.stringContaining('Dear Ann &lt;3, you have 3 coins.'),
  })
  expect(refused(await emails.send({ to: 'ann@inbox.example', template: { id: 'welcome' } }))).toMatchObject({
    name: 'missing_template_variable',
  })
  done(await templates.update('welcome', { subject: 'Hello again' }))
  expect(done(await templates.get('welcome')).has_unpublished_versions).toBe(true)
  const copy = done(await templates.duplicate('welcome'))
  expect(done(await templates.list()).data.map(({ id }) => id)).toEqual(expect.arrayContaining([made.id, copy.id]))
  done(await templates.publish('welcome'))
  expect(done(await templates.remove(made.id))).toMatchObject({ object: 'template', id: made.id, deleted: true })
  expect(refused(await emails.send({ to: 'ann@inbox.example', template: { id: 'welcome', variables: { name: 'Ann' } } }))).toMatchObject({
    name: 'template_not_found',
  })
})

test('what is not served is not found', async () => {
  const { contacts } = resendClient(await startClientRelay())
  expect(refused(await contacts.list())).toMatchObject({ name: 'not_found', statusCode: 404 })
})

test('a domain tracks opens and clicks once it is told to', async () => {
  const relay = await startClientRelay()
  const { domains, emails } = resendClient(relay)
  const { data } = done(await domains.list())
  const { id = '' } = data.find(({ name }) => name === 'sender.example') ?? {}
  done(await domains.update({ id, openTracking: true, clickTracking: true }))
  expect(done(await domains.get(id))).toMatchObject({ open_tracking: true, click_tracking: true })
  done(
    await emails.send({
      from: 'app@sender.example',
      to: 'ann@inbox.example',
      subject: 'Hello',
      html: '<a href="https://shop.example/">Shop</a>',
    }),
  )
  expect(trackedIn(await relay.received('ann@inbox.example'))).toEqual({ opens: true, clicks: true })
})
