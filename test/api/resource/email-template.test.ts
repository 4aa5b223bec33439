import { expect, test } from 'vitest'
import { startEmailApi } from '../../support/email-api.ts'

const person = { to: 'ann@recipient.example' }
const greeting = {
  from: 'Shop <shop@sender.example>',
  subject: 'Hello {{name}}',
  html: '<p>{{name}} & {{{raw}}}</p>',
  reply_to: 'help@sender.example',
}

async function start() {
  const api = await startEmailApi()
  const call = (method: string, path: string, body?: object) =>
    api.request(method, `/api/templates${path}`, { token: api.key, ...(body === undefined ? {} : { body }) })
  let made = 0
  /** Makes a template and publishes it; gives its alias and its id. */
  async function publish(fields: object = {}): Promise<{ alias: string; id: string }> {
    const alias = `d-${++made}`
    const { body } = await call('POST', '', { name: 'x', alias, ...greeting, ...fields })
    await call('POST', `/${alias}/publish`)
    return { alias, id: String(body['id']) }
  }
  /** An email with its bodies as they were before they had a line end. */
  async function read(id: unknown): Promise<Record<string, unknown> & { html: string; text: string }> {
    const { body } = await api.get(`/api/emails/${id}`)
    return { ...body, html: String(body['html']).trimEnd(), text: String(body['text']).trimEnd() }
  }
  /** Sends an email, and reads it. */
  async function sent(email: object) {
    const { status, body } = await api.send({ ...person, ...email })
    expect({ status, body }).toMatchObject({ status: 200 })
    return read(body['id'])
  }
  return { api, call, publish, read, sent }
}

test('an email is made from a template, by its alias or its id', async () => {
  const { api, publish, sent } = await start()
  const { alias, id } = await publish()
  const variables = { name: '<Ann>', raw: '<b>' }
  for (const name of [alias, id]) {
    expect(await sent({ template: { id: name, variables } })).toMatchObject({
      from: 'Shop <shop@sender.example>',
      subject: 'Hello <Ann>',
      reply_to: ['help@sender.example'],
      html: '<p>&lt;Ann&gt; & <b></p>',
      text: expect.stringContaining('<Ann> &'),
      template_id: id,
    })
  }
  const { data } = (await api.get('/api/emails?limit=1')).body as { data: object[] }
  expect(data).toMatchObject([{ template_id: id }])
})

test('what the email says itself goes before the template', async () => {
  const { publish, sent } = await start()
  const { alias } = await publish({ text: 'Dear {{name}}' })
  const own = { from: 'me@sender.example', subject: 'Own {{name}}', reply_to: ['me@sender.example', 'you@sender.example'] }
  expect(await sent({ ...own, template: { id: alias, variables: { name: 'Ann', raw: 1 } } })).toMatchObject({
    ...own,
    text: 'Dear Ann',
  })
  const { reply_to: replyTo } = await sent({
    headers: { 'Reply-To': 'h@sender.example' },
    template: { id: alias, variables: { name: 'Ann', raw: 1 } },
  })
  expect(replyTo).toBeNull()
})

test('an email without a template has none', async () => {
  const { sent } = await start()
  expect(await sent({ from: 'a@sender.example', subject: 'x', html: '{{x}}' })).toMatchObject({ template_id: null, html: '{{x}}' })
})

test('what was published last is sent, at once and until the next is published', async () => {
  const { api, call, publish, sent } = await start()
  const { alias } = await publish({ html: 'one' })
  const template = { id: alias, variables: { name: 'Ann' } }
  expect(await sent({ template })).toMatchObject({ html: 'one' })
  await call('PATCH', `/${alias}`, { html: 'two' })
  expect(await sent({ template })).toMatchObject({ html: 'one' })
  await call('POST', `/${alias}/publish`)
  expect(await sent({ template })).toMatchObject({ html: 'two' })
  await call('PATCH', `/${alias}`, { alias: `${alias}-new` })
  expect((await api.send({ ...person, template })).body).toMatchObject({ name: 'template_not_found' })
  const renamed = { ...template, id: `${alias}-new` }
  expect(await sent({ template: renamed })).toMatchObject({ html: 'two' })
  await call('DELETE', `/${alias}-new`)
  expect((await api.send({ ...person, template: renamed })).body).toMatchObject({ name: 'template_not_found' })
})

test('what an email with a template is refused for', async () => {
  const { api, call, publish } = await start()
  const { alias } = await publish({ variables: [{ key: 'plan', type: 'string' }] })
  const bare = await publish({ from: null, subject: null, html: 'x' })
  const long = await publish({ subject: '{{name}}', html: 'x' })
  await call('POST', '', { name: 'x', alias: 'draft', html: 'x' })
  const full = { name: 'Ann', raw: 'x', plan: 'free' }
  const cases: [string, object, string, string[]][] = [
    ['unknown', { template: { id: 'nothing' } }, 'template_not_found', ['template.id']],
    ['never published', { template: { id: 'draft' } }, 'template_not_published', ['template.id']],
    ['without an id', { template: {} }, 'missing_required_field', ['template.id']],
    ['no object', { template: alias }, 'validation_error', ['template']],
    ['with html', { html: 'x', template: { id: alias, variables: full } }, 'validation_error', ['html']],
    ['with text', { text: '', template: { id: alias, variables: full } }, 'validation_error', ['text']],
    [
      'nothing given',
      { template: { id: alias } },
      'missing_template_variable',
      ['plan', 'name', 'raw'].toSorted().map((name) => `template.variables.${name}`),
    ],
    ['a wrong type', { template: { id: alias, variables: { ...full, plan: [] } } }, 'validation_error', ['template.variables.plan']],
    ['an object for text', { template: { id: alias, variables: { ...full, raw: {} } } }, 'validation_error', ['template.variables.raw']],
    ['no variables', { template: { id: alias, variables: [] } }, 'validation_error', ['template.variables']],
    ['neither has a sender', { template: { id: bare.id } }, 'missing_required_field', ['from', 'subject']],
    ['a subject too long', { template: { id: long.id, variables: { name: 'x'.repeat(999) } } }, 'validation_error', ['subject']],
    ['a subject of nothing', { template: { id: long.id, variables: { name: '\n' } } }, 'validation_error', ['subject']],
    ['a subject with a tab', { template: { id: long.id, variables: { name: 'a\tb' } } }, 'validation_error', ['subject']],
  ]
  const before = await api.db.read('select count(*) as messages from message')
  for (const [what, email, name, fields] of cases) {
    const { status, body } = await api.send({ ...person, ...email })
    expect({ status, name: body.name, fields: body.errors?.map(({ field }) => field) }, what).toEqual({ status: 422, name, fields })
  }
  expect(await api.db.read('select count(*) as messages from message')).toEqual(before)
})

test("another account's template is not found", async () => {
  const { api, publish } = await start()
  const { alias, id } = await publish({ html: 'x', subject: 'x' })
  const token = await api.token({ account: 'stranger' })
  for (const name of [alias, id]) {
    expect(await api.send({ ...person, template: { id: name } }, { token })).toMatchObject({
      status: 422,
      body: { name: 'template_not_found' },
    })
  }
})

test('the emails of a batch have templates of their own', async () => {
  const { api, publish, read } = await start()
  const { alias } = await publish({ html: '{{n}}', subject: 'x' })
  const email = (variables: object) => ({ ...person, template: { id: alias, variables } })
  const batch = (emails: object[], headers = {}) => api.request('POST', '/api/emails/batch', { token: api.key, body: emails, headers })
  const { status, body } = await batch([email({ n: 1 }), email({ n: 2 })])
  expect(status).toBe(200)
  const ids = (body['data'] as { id: string }[]).map(({ id }) => id)
  expect(await read(ids[1])).toMatchObject({ html: '2' })
  expect(await batch([email({ n: 1 }), email({})])).toMatchObject({
    status: 422,
    body: { name: 'missing_template_variable', errors: [{ field: '1.template.variables.n' }] },
  })
  expect(await batch([email({ n: 1 }), email({})], { 'x-batch-validation': 'permissive' })).toMatchObject({
    status: 200,
    body: { data: [{}], errors: [{ index: 1, name: 'missing_template_variable' }] },
  })
})

test('large templates and large requests are filled in as small ones are', async () => {
  const { api, publish, sent } = await start()
  const { alias, id } = await publish({ html: `<p>{{name}}</p>${'<b>x</b>'.repeat(20_000)}{{#list}}{{.}}{{/list}}` })
  const email = { ...person, template: { id: alias, variables: { name: '<', list: ['a', 'b'] } } }
  const large = await sent(email)
  expect(large).toMatchObject({ template_id: id, subject: 'Hello <' })
  expect(large.html === `<p>&lt;</p>${'<b>x</b>'.repeat(20_000)}ab`).toBe(true)
  const { html } = await sent({ subject: 'x', template: { id: alias, variables: { name: 'y'.repeat(100_000) } } })
  expect(html.includes('y'.repeat(100_000))).toBe(true)
  const { body } = await api.request('POST', '/api/emails/batch', {
    token: api.key,
    body: [email, email, { ...person, template: { id: 'nothing' } }],
    headers: { 'x-batch-validation': 'permissive' },
  })
  expect(body).toMatchObject({ data: [{}, {}], errors: [{ index: 2, name: 'template_not_found' }] })
})

test('a template that repeats without end is refused, and the next email is taken', async () => {
  const { api, publish, sent } = await start()
  const { alias } = await publish({ html: '{{#l}}{{#l}}{{#l}}{{#l}}x{{/l}}{{/l}}{{/l}}{{/l}}', subject: 'x' })
  const list = Array(1000).fill(1)
  expect(await api.send({ ...person, template: { id: alias, variables: { l: list } } })).toMatchObject({
    status: 422,
    body: { name: 'validation_error' },
  })
  expect(await sent({ template: { id: alias, variables: { l: [1] } } })).toMatchObject({ html: 'x' })
})

test('a former version is sent where its number is given, of large templates too', async () => {
  const { api, call, publish, sent } = await start()
  const { alias } = await publish({ html: `<p>first ${'x'.repeat(100_000)}</p>` })
  await call('PATCH', `/${alias}`, { html: `<p>second ${'x'.repeat(100_000)}</p>` })
  await call('POST', `/${alias}/publish`)
  const html = async (template: object) => (await sent({ template: { id: alias, variables: { name: 'Ann' }, ...template } })).html
  expect(await html({ version: 1 })).toMatch(/^<p>first /)
  expect(await html({ version: 2 })).toMatch(/^<p>second /)
  expect(await html({})).toMatch(/^<p>second /)
  const refused = await api.send({ ...person, template: { id: alias, variables: { name: 'Ann' }, version: 3 } })
  expect(refused).toMatchObject({ status: 422, body: { name: 'template_not_published', message: expect.stringContaining('no version 3') } })
})
