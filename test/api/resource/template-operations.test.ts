import { expect, test } from 'vitest'
import { templateOperations, type TemplateServices } from '../../../src/api/resource/template-operations.ts'
import { startApiServer } from '../../support/api-server.ts'

async function startApi() {
  const api = await startApiServer((services) => templateOperations({ templates: services.templates } as TemplateServices))
  const apiToken = await api.token()
  const call = (method: string, path: string, body?: unknown, token = apiToken) =>
    api.request(method, `/api${path}`, { token, ...(body === undefined ? {} : { body }) })
  const create = async (fields: object = {}) => String((await call('POST', '/templates', { ...welcome, ...fields })).body['id'])
  return { ...api, call, create, get: async (idOrAlias: string) => (await call('GET', `/templates/${idOrAlias}`)).body }
}

const welcome = { name: 'Welcome', html: '<p>Hello {{name}}</p>' }

test('a template is kept as it was given, and is not published', async () => {
  const { call, get } = await startApi()
  const made = await call('POST', '/templates', {
    ...welcome,
    alias: 'd-welcome_1',
    subject: 'Welcome, {{name}}',
    text: 'Hello {{name}}',
    from: 'Ann <ann@sender.example>',
    reply_to: 'help@sender.example',
    variables: [
      { key: 'name', type: 'string' },
      { key: 'PLAN', type: 'number', fallback_value: 7 },
    ],
    react: {},
  })
  expect(made).toMatchObject({ status: 201, body: { object: 'template', id: expect.stringMatching(/^tpl_[0-9a-z]{26}$/) } })
  expect(Object.keys(made.body)).toEqual(['object', 'id'])
  const times = { created_at: '2026-11-21T06:00:00.000Z', updated_at: '2026-11-21T06:00:00.000Z' }
  const object = await get('d-welcome_1')
  expect(object).toEqual({
    ...made.body,
    name: 'Welcome',
    alias: 'd-welcome_1',
    status: 'draft',
    subject: 'Welcome, {{name}}',
    html: '<p>Hello {{name}}</p>',
    text: 'Hello {{name}}',
    from: 'Ann <ann@sender.example>',
    reply_to: ['help@sender.example'],
    variables: [
      { key: 'name', type: 'string', fallback_value: null, ...times },
      { key: 'PLAN', type: 'number', fallback_value: 7, ...times },
    ],
    published_at: null,
    ...times,
    layout: null,
    version: null,
    is_outdated: false,
    has_unpublished_versions: true,
    current_version_id: expect.stringMatching(/^tplv_/),
  })
  expect(await get(String(made.body['id']))).toEqual(object)
  expect((await call('GET', '/templates')).body).toEqual({
    object: 'list',
    has_more: false,
    data: [{ ...made.body, name: 'Welcome', alias: 'd-welcome_1', status: 'draft', published_at: null, ...times }],
  })
})

test('what is left out is null', async () => {
  const { create, get } = await startApi()
  expect(await get(await create())).toMatchObject({ alias: null, subject: null, text: null, from: null, reply_to: null, variables: [] })
})

test.each<[object, string, string]>([
  [{ html: undefined }, 'missing_required_field', 'html'],
  [{ name: undefined }, 'missing_required_field', 'name'],
  [{ name: '' }, 'validation_error', 'name'],
  [{ html: '' }, 'validation_error', 'html'],
  [{ html: 'x'.repeat(5 * 1024 * 1024 + 1) }, 'validation_error', 'html'],
  [{ html: '<p>\n{{#a}}' }, 'validation_error', 'html'],
  [{ text: '{{a' }, 'validation_error', 'text'],
  [{ subject: '{{/a}}' }, 'validation_error', 'subject'],
  [{ subject: 'a\nBcc: b' }, 'validation_error', 'subject'],
  [{ from: 'nobody' }, 'validation_error', 'from'],
  [{ reply_to: ['a@b.example', 'nobody'] }, 'validation_error', 'reply_to.1'],
  ...['Welcome', '-a', 'a.b', 'a'.repeat(65), 'tpl_a', ''].map((alias): [object, string, string] => [
    { alias },
    'validation_error',
    'alias',
  ]),
  [{ variables: [{ key: '1a', type: 'string' }] }, 'validation_error', 'variables.0.key'],
  [{ variables: [{ key: 'a', type: 'list' }] }, 'validation_error', 'variables.0.type'],
  [{ variables: [{ key: 'a', type: 'number', fallback_value: '1' }] }, 'validation_error', 'variables.0.fallback_value'],
  [
    {
      variables: [
        { key: 'a', type: 'string' },
        { key: 'a', type: 'number' },
      ],
    },
    'validation_error',
    'variables.1.key',
  ],
])('a template with %.60j is refused', async (fields, name, field) => {
  const { call } = await startApi()
  expect(await call('POST', '/templates', { ...welcome, ...fields })).toMatchObject({ status: 422, body: { name, errors: [{ field }] } })
  expect((await call('GET', '/templates')).body.data).toEqual([])
})

test('a fault in the syntax names its line and what to do', async () => {
  const { call } = await startApi()
  const { body } = await call('POST', '/templates', { ...welcome, html: '<p>\n\n{{#items}}</p>' })
  expect(body['message']).toBe('The `html` field cannot be read at line 3. {{#items}} is never closed. Write {{/items}} where it ends.')
  expect(body.errors).toMatchObject([{ field: 'html', code: 'invalid_template' }])
})

test('edits wait until they are published; a name and an alias do not', async () => {
  const { call, create, get, clock } = await startApi()
  const id = await create({ alias: 'welcome', subject: 'one', variables: [{ key: 'name', type: 'string' }] })
  expect(await call('POST', `/templates/welcome/publish`)).toMatchObject({ status: 200, body: { object: 'template', id } })
  const published = await get(id)
  expect(published).toMatchObject({ status: 'published', published_at: '2026-11-21T06:00:00.000Z', has_unpublished_versions: false })

  clock.advance(1000)
  expect(await call('PATCH', '/templates/welcome', { name: 'Hello', alias: 'hello' })).toMatchObject({
    status: 200,
    body: { object: 'template', id },
  })
  expect(await get('hello')).toEqual({ ...published, name: 'Hello', alias: 'hello', updated_at: '2026-11-21T06:00:01.000Z' })
  expect(await get('welcome')).toMatchObject({ name: 'not_found' })

  await call('PATCH', `/templates/${id}`, { subject: 'two', variables: [{ key: 'name', type: 'string', fallback_value: 'you' }] })
  const edited = await get(id)
  expect(edited).toMatchObject({ status: 'published', subject: 'two', html: welcome.html, has_unpublished_versions: true })
  expect(edited['variables']).toMatchObject([{ created_at: '2026-11-21T06:00:00.000Z', updated_at: '2026-11-21T06:00:01.000Z' }])
  expect(edited['current_version_id']).not.toBe(published['current_version_id'])
  await call('PATCH', `/templates/${id}`, { text: 'three' })
  expect(await get(id)).toMatchObject({ subject: 'two', text: 'three', current_version_id: edited['current_version_id'] })
  await call('PATCH', `/templates/${id}`, { subject: null, text: null, alias: null })
  expect(await get(id)).toMatchObject({ subject: null, text: null, alias: null })

  await call('POST', `/templates/${id}/publish`)
  expect(await get(id)).toMatchObject({ has_unpublished_versions: false, published_at: '2026-11-21T06:00:01.000Z' })
})

test('edits at the same time are all kept', async () => {
  const { call, create, get } = await startApi()
  const id = await create()
  await call('POST', `/templates/${id}/publish`)
  const changes = [{ subject: 'new' }, { text: 'new' }, { from: 'new@sender.example' }, { html: 'new' }]
  const answers = await Promise.all(changes.map((change) => call('PATCH', `/templates/${id}`, change)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await get(id)).toMatchObject({ subject: 'new', text: 'new', from: 'new@sender.example', html: 'new' })
})

test('a faulty edit changes nothing', async () => {
  const { call, create, get } = await startApi()
  const id = await create()
  const before = await get(id)
  for (const change of [{ html: '{{' }, { html: null }, { name: null }, { subject: 'ok', from: 'nobody' }]) {
    expect(await call('PATCH', `/templates/${id}`, change)).toMatchObject({ status: 422, body: { name: 'validation_error' } })
  }
  expect(await get(id)).toEqual(before)
})

test('an alias belongs to one template of an account', async () => {
  const { call, create, token } = await startApi()
  await create({ alias: 'welcome' })
  const other = await create({ alias: 'other' })
  expect(await call('POST', '/templates', { ...welcome, alias: 'welcome' })).toMatchObject({ status: 409, body: { name: 'alias_taken' } })
  expect(await call('PATCH', `/templates/${other}`, { alias: 'welcome' })).toMatchObject({ status: 409, body: { name: 'alias_taken' } })
  expect(await call('POST', '/templates', { ...welcome, alias: 'welcome' }, await token({ account: 'other' }))).toMatchObject({
    status: 201,
  })
  await call('DELETE', '/templates/welcome')
  expect(await call('PATCH', `/templates/${other}`, { alias: 'welcome' })).toMatchObject({ status: 200 })
})

test('a copy is a draft of its own', async () => {
  const { call, create, get } = await startApi()
  const id = await create({ alias: 'welcome', subject: 'one', name: 'x'.repeat(255) })
  await call('POST', `/templates/${id}/publish`)
  await call('PATCH', `/templates/${id}`, { subject: 'two' })
  const copied = await call('POST', '/templates/welcome/duplicate')
  expect(copied).toMatchObject({ status: 201, body: { object: 'template' } })
  const copy = await get(String(copied.body['id']))
  expect(copy).toMatchObject({ status: 'draft', alias: null, subject: 'two', html: welcome.html, published_at: null })
  expect(copy['name']).toBe(`${'x'.repeat(248)} (copy)`)
})

test('a deleted template is gone', async () => {
  const { call, create, get, db } = await startApi()
  const id = await create()
  await call('POST', `/templates/${id}/publish`)
  await call('PATCH', `/templates/${id}`, { subject: 'two' })
  expect(await call('DELETE', `/templates/${id}`)).toMatchObject({ status: 200, body: { object: 'template', id, deleted: true } })
  expect(await get(id)).toMatchObject({ name: 'not_found' })
  expect(await call('DELETE', `/templates/${id}`)).toMatchObject({ status: 404 })
  expect(await db.read('select id from template_version')).toEqual([])
})

test('the last fifty published versions are kept', async () => {
  const { call, create, get, clock, db } = await startApi()
  const id = await create()
  for (let version = 1; version <= 52; version++) {
    clock.advance(1000)
    await call('PATCH', `/templates/${id}`, { subject: `version ${version}` })
    await call('POST', `/templates/${id}/publish`)
  }
  await call('PATCH', `/templates/${id}`, { subject: 'draft' })
  const subjects = (await db.read('select subject from template_version order by id')).map(({ subject }) => subject)
  expect(subjects).toEqual([...Array.from({ length: 50 }, (_, i) => `version ${i + 3}`), 'draft'])
  expect(await get(id)).toMatchObject({ subject: 'draft', status: 'published' })
})

test('the newest version can be tried out', async () => {
  const { call, create, token } = await startApi()
  const variables = [{ key: 'plan', type: 'string', fallback_value: 'free' }]
  const id = await create({ subject: '{{name}}: {{plan}}', html: '<p>{{name}}{{#items}}<b>{{title}}</b>{{/items}}</p>', variables })
  const render = async (given?: unknown) => call('POST', `/templates/${id}/render`, given, await token({ permission: 'read_access' }))
  expect(await render({ variables: { name: '<Ann>', items: [{ title: 1 }, { title: '"' }] } })).toMatchObject({
    status: 200,
    body: { subject: '<Ann>: free', html: '<p>&lt;Ann&gt;<b>1</b><b>&quot;</b></p>', text: null, missing: [] },
  })
  expect(await render()).toMatchObject({ status: 200, body: { subject: ': free', html: '<p></p>', missing: ['name'] } })
  expect(await render({ variables: { plan: {} } })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'variables.plan', code: 'invalid_type' }] },
  })
  expect(await render({ variables: { name: 'x'.repeat(512 * 1024) } })).toMatchObject({ status: 413, body: { name: 'payload_too_large' } })
  expect(await render({ variables: [] })).toMatchObject({ status: 422, body: { errors: [{ field: 'variables' }] } })
})

test('content is rendered without being saved, with the published layout and partials', async () => {
  const { call, create, token } = await startApi()
  await create({ alias: 'frame', html: '<main>{{{@content}}}</main>{{site}}', variables: [{ key: 'site', type: 'string' }] })
  const reader = await token({ permission: 'read_access' })
  const render = (content: object) => call('POST', '/templates/render', content, reader)
  const content = { subject: 'For {{name}}', html: '<p>{{name}}, {{plan}}</p>', layout: 'frame' }
  const declared = [{ key: 'plan', type: 'string', fallback_value: 'free' }]
  expect(await render({ ...content, declared })).toMatchObject({ status: 422, body: { errors: [{ field: 'layout' }] } })
  await call('POST', '/templates/frame/publish')
  expect(await render({ ...content, declared, variables: { name: '<Ann>' } })).toMatchObject({
    status: 200,
    body: { subject: 'For <Ann>', html: '<main><p>&lt;Ann&gt;, free</p></main>', text: null, missing: ['site'] },
  })
  expect(await render({ html: '<p>\n{{#open}}' })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'html', code: 'invalid_template' }] },
  })
  expect(await render({ html: '' })).toMatchObject({ status: 200, body: { html: '', missing: [] } })
  expect((await call('GET', '/templates')).body['data']).toHaveLength(1)
})

test('templates are listed in pages, newest first', async () => {
  const { call, create, get } = await startApi()
  const ids = [await create(), await create(), await create()].toReversed()
  await call('POST', `/templates/${ids[1]}/publish`)
  const first = (await call('GET', '/templates?limit=2')).body as { has_more: boolean; data: { id: string }[] }
  expect(first).toMatchObject({
    has_more: true,
    data: [
      { id: ids[0], status: 'draft' },
      { id: ids[1], status: 'published' },
    ],
  })
  expect((await call('GET', `/templates?after=${ids[1]}`)).body).toMatchObject({ has_more: false, data: [{ id: ids[2] }] })
  expect((await call('GET', `/templates?before=${ids[1]}`)).body).toMatchObject({ has_more: false, data: [{ id: ids[0] }] })
  expect(await get(String(ids[1]))).toMatchObject(first.data[1] as object)
})

test("another account's template is as if there were none", async () => {
  const { call, create, get, token } = await startApi()
  const id = await create({ alias: 'welcome' })
  const before = await get(id)
  const stranger = await token({ account: 'other' })
  const requests: [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { subject: 'mine' }],
    ['DELETE', ''],
    ['POST', '/publish'],
    ['POST', '/duplicate'],
    ['POST', '/render', {}],
  ]
  const absent = await call('GET', `/templates/tpl_${'0'.repeat(26)}`)
  expect(absent).toMatchObject({ status: 404, body: { name: 'not_found' } })
  for (const [method, path, body] of requests) {
    for (const name of [id, 'welcome']) {
      const { status, body: refusal } = await call(method, `/templates/${name}${path}`, body, stranger)
      expect({ status, message: refusal['message'] }).toEqual({ status: 404, message: absent.body['message'] })
    }
  }
  expect((await call('GET', '/templates', undefined, stranger)).body.data).toEqual([])
  expect(await get(id)).toEqual(before)
})

test('only who has full access may change templates', async () => {
  const { call, create, token } = await startApi()
  const id = await create()
  const reader = await token({ permission: 'read_access' })
  for (const [method, path] of [
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/publish'],
    ['POST', '/duplicate'],
  ]) {
    expect(await call(String(method), `/templates/${id}${path}`, undefined, reader)).toMatchObject({ status: 403 })
  }
  expect(await call('GET', `/templates/${id}`, undefined, await token({ permission: 'sending_access' }))).toMatchObject({ status: 403 })
})
