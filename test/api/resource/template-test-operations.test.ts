import { expect, test } from 'vitest'
import { startEmailApi } from '../../support/email-api.ts'

async function start(fields: object = {}) {
  const api = await startEmailApi()
  const call = (method: string, path: string, body?: object, more: { token?: string; headers?: Record<string, string> } = {}) =>
    api.request(method, `/api/templates${path}`, { token: api.key, ...(body === undefined ? {} : { body }), ...more })
  const { status } = await call('POST', '', {
    name: 'News',
    alias: 'news',
    subject: 'Hi {{name}}',
    html: '<p>{{name}}</p>',
    from: 'App <app@sender.example>',
    ...fields,
  })
  expect(status).toBe(201)
  const email = async (id: unknown, token?: string) => {
    const { body } = await api.get(`/api/emails/${String(id)}`, token)
    // A message ends with a line break.
    return { ...body, html: String(body['html']).trimEnd(), text: String(body['text']).trimEnd() }
  }
  return { ...api, call, email }
}

test('the draft goes to one address as an ordinary email', async () => {
  const { call, email, idle, delivered, get } = await start({ reply_to: 'help@sender.example' })
  const answer = await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } })
  expect(answer).toMatchObject({ status: 200, body: { object: 'email', status: 'queued', to: ['ann@rcpt.example'] } })
  expect(await email(answer.body['id'])).toMatchObject({
    from: 'App <app@sender.example>',
    reply_to: ['help@sender.example'],
    subject: 'Hi Ann',
    html: '<p>Ann</p>',
    text: 'Ann',
    template_id: null,
    tags: [{ name: 'template_test', value: 'news' }],
  })
  await idle()
  await expect.poll(() => delivered.length).toBe(1)
  expect((await get('/api/emails')).body['data']).toHaveLength(1)
})

test('what is published can be tested beside a draft', async () => {
  const { call, email } = await start()
  expect(await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' }, version: 'published' })).toMatchObject({
    status: 422,
    body: { name: 'template_not_published' },
  })
  await call('POST', '/news/publish')
  await call('PATCH', '/news', { html: '<b>{{name}}</b>' })
  for (const [version, html] of [
    ['published', '<p>Ann</p>'],
    ['draft', '<b>Ann</b>'],
    [undefined, '<b>Ann</b>'],
  ]) {
    const { body } = await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' }, version })
    expect((await email(body['id'])).html).toBe(html)
  }
})

test('a draft is tested with its layout', async () => {
  const { call, email } = await start({ layout: 'frame' })
  await call('POST', '', { name: 'Frame', alias: 'frame', html: '[{{{@content}}}]' })
  expect(await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'layout' }] },
  })
  await call('POST', '/frame/publish')
  const { body } = await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } })
  expect((await email(body['id'])).html).toBe('[<p>Ann</p>]')
})

test('what the test says itself goes before the template', async () => {
  const { call, email } = await start({ html: 'x {{unsubscribe_url}}' })
  const body = { to: 'Ann <ann@rcpt.example>', from: 'Me <me@sender.example>', subject: 'A test', unsubscribe: true }
  const answer = await call('POST', '/news/test', body)
  expect(await email(answer.body['id'])).toMatchObject({
    from: 'Me <me@sender.example>',
    subject: 'A test',
    to: ['Ann <ann@rcpt.example>'],
    html: expect.stringMatching(/^x https:\/\/mail\.example\.com\/u\//),
  })
})

test.each<[body: object, name: string, field: string | null]>([
  [{}, 'missing_required_field', 'to'],
  [{ to: ['ann@rcpt.example'] }, 'validation_error', 'to'],
  [{ to: 'ann@rcpt.example, bob@rcpt.example', variables: { name: 'x' } }, 'validation_error', 'to'],
  [{ to: 'nobody', variables: { name: 'x' } }, 'validation_error', 'to'],
  [{ to: 'ann@rcpt.example' }, 'missing_template_variable', 'variables.name'],
  [{ to: 'ann@rcpt.example', variables: { name: {} } }, 'validation_error', 'variables.name'],
  [{ to: 'ann@rcpt.example', variables: { name: 'x' }, version: 'newest' }, 'validation_error', 'version'],
  [{ to: 'ann@rcpt.example', variables: { name: 'x' }, from: 'app@other.example' }, 'domain_not_verified', null],
  [{ to: 'ann@rcpt.example', variables: { name: 'x'.repeat(1000) } }, 'validation_error', 'subject'],
])('a test with %.60j is refused', async (body, name, field) => {
  const { call, get } = await start()
  const answer = await call('POST', '/news/test', body)
  expect(answer.body).toMatchObject({ name, ...(field === null ? {} : { errors: [{ field }] }) })
  expect((await get('/api/emails')).body['data']).toEqual([])
})

test('a template without a sender needs one', async () => {
  const { call } = await start({ from: null, subject: null })
  expect(await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } })).toMatchObject({
    status: 422,
    body: { name: 'missing_required_field', errors: [{ field: 'from' }, { field: 'subject' }] },
  })
})

test('a sandbox key sends it nowhere', async () => {
  const { call, token, email, get } = await start()
  const rehearsing = await token({ sandbox: true })
  const { status, body } = await call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } }, { token: rehearsing })
  expect(status).toBe(200)
  expect(await email(body['id'], rehearsing)).toMatchObject({ subject: 'Hi Ann' })
  expect((await get('/api/emails')).body['data']).toEqual([])
})

test('a repeated request sends once', async () => {
  const { call, get } = await start()
  const send = () =>
    call('POST', '/news/test', { to: 'ann@rcpt.example', variables: { name: 'Ann' } }, { headers: { 'idempotency-key': 'once' } })
  expect((await send()).body['id']).toBe((await send()).body['id'])
  expect((await get('/api/emails')).body['data']).toHaveLength(1)
})

test('only who may change templates may test them', async () => {
  const { call, token } = await start()
  const body = { to: 'ann@rcpt.example', variables: { name: 'Ann' } }
  for (const permission of ['sending_access', 'read_access'] as const) {
    expect(await call('POST', '/news/test', body, { token: await token({ permission }) })).toMatchObject({ status: 403 })
  }
  expect(await call('POST', '/news/test', body, { token: await token({ account: 'other' }) })).toMatchObject({ status: 404 })
})
