import { expect, test } from 'vitest'
import { startEmailApi } from '../../support/email-api.ts'

async function start() {
  const api = await startEmailApi()
  const call = (method: string, path: string, body?: unknown, token = api.key) =>
    api.request(method, `/api/templates${path}`, { token, ...(body === undefined ? {} : { body: body as object }) })
  const done = async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await call(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body
  }
  return {
    ...api,
    call,
    done,
    create: (alias: string, fields: object) => done('POST', '', { name: alias, alias, ...fields }),
    publish: (alias: string, body?: object) => done('POST', `/${alias}/publish`, body),
    /** What an email with this template holds. */
    async sent(alias: string, variables: object = {}): Promise<{ subject: string; html: string; text: string }> {
      const { body } = await api.send({ from: 'app@sender.example', to: 'ann@rcpt.example', template: { id: alias, variables } })
      expect(body, JSON.stringify(body)).toHaveProperty('id')
      const { subject, html, text } = (await api.get(`/api/emails/${String(body['id'])}`)).body as Record<string, string>
      // A message ends with a line break.
      return { subject: String(subject), html: String(html).trimEnd(), text: String(text).trimEnd() }
    },
  }
}

test('what was published is listed, with who published it', async () => {
  const { done, create, publish, clock } = await start()
  await create('news', { subject: 'one', html: '<p>1</p>' })
  await publish('news')
  clock.advance(60_000)
  await done('PATCH', '/news', { subject: 'two', layout: null, variables: [{ key: 'x', type: 'string', fallback_value: 'y' }] })
  expect(await publish('news')).toMatchObject({ object: 'template', version: 2, outdated_dependents: [] })
  const list = await done('GET', '/news/versions')
  const by = { type: 'key', id: expect.stringMatching(/^key_/), name: expect.any(String) }
  expect(list).toMatchObject({
    object: 'list',
    has_more: false,
    data: [
      { object: 'template_version', number: 2, published_at: '2026-11-21T06:01:00.000Z', published_by: by, is_sent: true },
      { object: 'template_version', number: 1, published_at: '2026-11-21T06:00:00.000Z', published_by: by, is_sent: false },
    ],
  })
  expect(await done('GET', '/news/versions/1')).toEqual({
    ...list.data[1],
    subject: 'one',
    html: '<p>1</p>',
    text: null,
    from: null,
    reply_to: null,
    variables: [],
    layout: null,
    sent_html: '<p>1</p>',
    sent_text: null,
  })
  expect(await done('GET', '/news')).toMatchObject({ version: 2, is_outdated: false })
})

test.each(['0', '3', '-1', '1.0', 'x', '00000000000000000000000000', '9999999999'])('there is no version %s', async (number) => {
  const { call, create, publish } = await start()
  await create('news', { html: 'x' })
  await publish('news')
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/restore'],
  ]) {
    expect(await call(method as string, `/news/versions/${number}${path}`)).toMatchObject({ status: 404, body: { name: 'not_found' } })
  }
})

test('publishing what is published already makes no version', async () => {
  const { done, create, publish, clock } = await start()
  await create('news', { html: 'x' })
  await publish('news')
  const before = await done('GET', '/news')
  clock.advance(60_000)
  expect(await publish('news')).toMatchObject({ version: 1 })
  expect(await publish('news', { version: 'published' })).toMatchObject({ version: 1 })
  expect(await done('GET', '/news')).toEqual(before)
})

test('what was never published cannot be published again', async () => {
  const { call, create } = await start()
  await create('news', { html: 'x' })
  expect(await call('POST', '/news/publish', { version: 'published' })).toMatchObject({
    status: 422,
    body: { name: 'template_not_published' },
  })
  expect((await call('GET', '/news/versions')).body['data']).toEqual([])
  expect(await call('GET', '/news/diff')).toMatchObject({ status: 422, body: { name: 'template_not_published' } })
})

test('going back publishes the old version anew, and rewrites nothing', async () => {
  const { done, create, publish, sent } = await start()
  await create('news', { subject: 'one', html: 'first', text: 'plain', from: 'App <app@sender.example>', reply_to: 'help@sender.example' })
  await publish('news')
  await done('PATCH', '/news', { subject: 'two', html: 'second', text: null, from: null, reply_to: null })
  await publish('news')
  const old = await done('GET', '/news/versions/1')
  expect(await done('POST', '/news/versions/1/restore')).toMatchObject({ version: 3 })
  expect(await sent('news')).toMatchObject({ subject: 'one', html: 'first', text: 'plain' })
  const [third, , first] = (await done('GET', '/news/versions')).data
  expect(third).toMatchObject({ number: 3, is_sent: true })
  expect(await done('GET', '/news/versions/1')).toEqual({ ...old, is_sent: false })
  expect(first.id).toBe(old.id)
  expect(await done('GET', '/news/versions/3')).toMatchObject({
    subject: 'one',
    html: 'first',
    text: 'plain',
    from: 'App <app@sender.example>',
    reply_to: ['help@sender.example'],
  })
  // Nothing was waiting to be published: what is edited now goes on from there.
  expect(await done('GET', '/news')).toMatchObject({ subject: 'one', has_unpublished_versions: false, version: 3 })
  expect(await done('POST', '/news/versions/3/restore')).toMatchObject({ version: 3 })
})

test('going back leaves a draft alone', async () => {
  const { done, create, publish, sent } = await start()
  await create('news', { subject: 'one', html: 'first' })
  await publish('news')
  await done('PATCH', '/news', { html: 'second' })
  await publish('news')
  await done('PATCH', '/news', { html: 'third' })
  await done('POST', '/news/versions/1/restore')
  expect(await done('GET', '/news')).toMatchObject({ html: 'third', has_unpublished_versions: true })
  expect((await sent('news')).html).toBe('first')
  expect(await publish('news')).toMatchObject({ version: 4 })
  expect((await sent('news')).html).toBe('third')
})

test('two who publish at the same time make two versions or one, never the same twice', async () => {
  const { done, create, publish } = await start()
  await create('news', { subject: 'old', html: 'x' })
  await publish('news')
  await done('PATCH', '/news', { html: 'y' })
  await Promise.all([
    publish('news'),
    publish('news'),
    done('POST', '/news/versions/1/restore'),
    done('PATCH', '/news', { subject: 'new' }),
  ])
  const numbers = (await done('GET', '/news/versions')).data.map(({ number }: { number: number }) => number)
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => numbers.length - i))
  // Whichever came last, the restored version or the new subject, stands.
  const { subject, version } = await done('GET', '/news')
  expect(['old', 'new']).toContain(subject)
  expect(version).toBe(numbers[0])
})

test('a diff tells by lines what differs', async () => {
  const { done, create, publish } = await start()
  const html = Array.from({ length: 9 }, (_, i) => `<p>${i}</p>\n`).join('')
  await create('news', { subject: 'one', html, text: 'plain', variables: [{ key: 'a', type: 'string' }] })
  await publish('news')
  await done('PATCH', '/news', {
    subject: 'two',
    html: html.replace('<p>4</p>', '<p>four</p>'),
    text: null,
    variables: [{ key: 'a', type: 'number', fallback_value: 1 }],
    from: 'app@sender.example',
  })
  const part = (name: string, removed: number, added: number, diff: string) => ({ part: name, added, removed, diff, truncated: false })
  expect(await done('GET', '/news/diff')).toEqual({
    object: 'template_diff',
    from: '1',
    to: 'draft',
    parts: [
      part('subject', 1, 1, '@@ -1,1 +1,1 @@\n-one\n+two\n'),
      part('from', 0, 1, '@@ -0,0 +1,1 @@\n+app@sender.example\n'),
      part('variables', 1, 1, '@@ -1,1 +1,1 @@\n-a: string\n+a: number = 1\n'),
      part('text', 1, 0, '@@ -1,1 +0,0 @@\n-plain\n\\ No newline at end of file\n'),
      part('html', 1, 1, '@@ -2,7 +2,7 @@\n <p>1</p>\n <p>2</p>\n <p>3</p>\n-<p>4</p>\n+<p>four</p>\n <p>5</p>\n <p>6</p>\n <p>7</p>\n'),
    ],
  })
  await publish('news')
  expect(await done('GET', '/news/diff')).toMatchObject({ from: '2', to: 'draft', parts: [] })
  expect(await done('GET', '/news/diff?from=2&to=1')).toMatchObject({
    from: '2',
    to: '1',
    parts: [{ part: 'subject', diff: '@@ -1,1 +1,1 @@\n-two\n+one\n' }, {}, {}, {}, {}],
  })
})

test.each(['from=gone', 'to=-1', 'from=1.5', 'view=all'])('a diff with %s is refused', async (query) => {
  const { call, create, publish } = await start()
  await create('news', { html: 'x' })
  await publish('news')
  expect(await call('GET', `/news/diff?${query}`)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
  expect(await call('GET', '/news/diff?to=2')).toMatchObject({ status: 404 })
})

test('a layout and partials are in what is sent, as they were when it was published', async () => {
  const { done, create, publish, sent } = await start()
  await create('footer', {
    html: '<i>{{company}}</i>',
    text: '-- {{company}}',
    variables: [{ key: 'company', type: 'string', fallback_value: 'Shop' }],
  })
  await create('frame', { html: '<body>{{{@content}}}{{> footer}}</body>', text: '{{{@content}}}\n{{> footer}}' })
  await create('news', { subject: 'News', html: '<p>Hello {{name}}</p>', text: 'Hello {{name}}', layout: 'frame' })
  for (const alias of ['footer', 'frame', 'news']) await publish(alias)
  const first = { html: '<body><p>Hello Ann</p><i>Shop</i></body>', text: 'Hello Ann\n-- Shop' }
  expect(await sent('news', { name: 'Ann' })).toMatchObject(first)
  expect(await done('GET', '/news')).toMatchObject({ html: '<p>Hello {{name}}</p>', layout: 'frame', variables: [], is_outdated: false })
  expect(await done('GET', '/news/versions/1')).toMatchObject({
    html: '<p>Hello {{name}}</p>',
    sent_html: '<body><p>Hello {{name}}</p><i>{{company}}</i></body>',
  })
  expect(await done('POST', '/news/render', { variables: { name: 'Ann' } })).toEqual({ subject: 'News', ...first, missing: [] })

  // A part that changes is sent by nobody before it is published with each.
  await done('PATCH', '/footer', { html: '<b>{{company}}</b>' })
  expect(await done('POST', '/news/render', { variables: { name: 'Ann' } })).toMatchObject(first)
  const outdated = (await publish('footer')).outdated_dependents as { alias: string }[]
  expect(outdated.map(({ alias }) => alias)).toEqual(['frame', 'news'])
  expect(await sent('news', { name: 'Ann' })).toMatchObject(first)
  expect(await done('GET', '/news')).toMatchObject({ is_outdated: true, has_unpublished_versions: false })
  expect(await done('POST', '/news/render', { variables: { name: 'Ann' } })).toMatchObject({
    html: '<body><p>Hello Ann</p><b>Shop</b></body>',
  })
  expect(await done('GET', '/news/diff?view=sent')).toMatchObject({
    from: '1',
    to: 'draft',
    parts: [{ part: 'html', removed: 1, added: 1 }],
  })
  expect(await done('GET', '/news/diff')).toMatchObject({ parts: [] })

  // What is published is published again without the draft that somebody is at.
  await done('PATCH', '/news', { html: '<p>Draft</p>' })
  expect(await publish('news', { version: 'published' })).toMatchObject({ version: 2 })
  expect(await sent('news', { name: 'Ann' })).toMatchObject({ html: '<body><p>Hello Ann</p><b>Shop</b></body>' })
  expect(await done('GET', '/news')).toMatchObject({ html: '<p>Draft</p>', has_unpublished_versions: true, is_outdated: false })
  expect((await done('GET', '/footer/dependents')).data).toMatchObject([
    { alias: 'frame', is_outdated: true },
    { alias: 'news', is_outdated: false },
  ])

  // Back, to the old footer too, even where it is gone.
  await done('DELETE', '/footer')
  expect(await done('POST', '/news/versions/1/restore')).toMatchObject({ version: 3 })
  expect(await sent('news', { name: 'Ann' })).toMatchObject(first)
  expect(await done('GET', '/news/versions/3')).toMatchObject({ html: '<p>Hello {{name}}</p>', layout: 'frame' })
})

test('what a layout lacks is told when it is published, and nothing changes', async () => {
  const { call, done, create, publish, sent } = await start()
  await create('news', { subject: 'News', html: 'old' })
  await publish('news')
  await done('PATCH', '/news', { html: '{{> gone}}', layout: 'frame' })
  expect(await call('POST', '/news/publish')).toMatchObject({
    status: 422,
    body: { name: 'validation_error', errors: [{ field: 'layout', code: 'template_not_found' }] },
  })
  await create('frame', { html: 'no place' })
  expect(await call('POST', '/news/publish')).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'layout', code: 'template_not_published' }] },
  })
  await publish('frame')
  await create('gone', { html: 'is here' })
  await publish('gone')
  expect(await call('POST', '/news/publish')).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'layout', code: 'no_content_place' }] },
  })
  expect(await call('POST', '/news/render', {})).toMatchObject({ status: 422, body: { errors: [{ field: 'layout' }] } })
  expect((await sent('news')).html).toBe('old')
  await done('PATCH', '/frame', { html: '[{{{@content}}}]' })
  await publish('frame')
  await publish('news')
  expect((await sent('news')).html).toBe('[is here]')
})

test('partials that multiply one another are refused at once', async () => {
  const { call, create, publish } = await start()
  for (let i = 9; i >= 0; i--) {
    await create(`p${i}`, { html: i === 9 ? 'lol' : `{{> p${i + 1}}}`.repeat(10) })
    const { status, body } = await call('POST', `/p${i}/publish`)
    // A thousand of them are the most that one template may hold.
    expect(status).toBe(i >= 7 ? 200 : 422)
    if (i < 7) return expect(body).toMatchObject({ name: 'validation_error', errors: [{ field: 'html', code: 'too_many' }] })
  }
  expect(await publish('p0')).toBeUndefined()
})

test('a subject holds no partials', async () => {
  const { call } = await start()
  expect(await call('POST', '', { name: 'x', html: 'x', subject: '{{> a}}' })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'subject', code: 'invalid_template' }] },
  })
  expect(await call('POST', '', { name: 'x', html: 'x', layout: 'A B' })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'layout' }] },
  })
})

test('a template without a layout is sent as ever, also where it has a variable called @content', async () => {
  const { create, publish, sent } = await start()
  await create('odd', { subject: 'x', html: '<p>{{{@content}}}\n</p>\n' })
  await publish('odd')
  expect((await sent('odd', { '@content': '<b>' })).html).toBe('<p><b>\n</p>')
})

test("another account's layout is none", async () => {
  const { call, token, create, publish } = await start()
  await create('frame', { html: '{{{@content}}}' })
  await publish('frame')
  const stranger = await token({ account: 'other' })
  await call('POST', '', { name: 'x', alias: 'mine', html: 'x', layout: 'frame' }, stranger)
  expect(await call('POST', '/mine/publish', undefined, stranger)).toMatchObject({
    status: 422,
    body: { errors: [{ code: 'template_not_found' }] },
  })
  for (const path of ['/versions', '/versions/1', '/diff', '/dependents'])
    expect(await call('GET', `/frame${path}`, undefined, stranger)).toMatchObject({ status: 404 })
})

test('with its template all that stands in others is forgotten', async () => {
  const { done, create, publish, db } = await start()
  await create('frame', { html: '{{{@content}}}' })
  await create('news', { html: 'x', layout: 'frame' })
  for (const alias of ['frame', 'news']) await publish(alias)
  await done('DELETE', '/news')
  expect(await db.read('select * from template_use')).toEqual([])
  expect((await done('GET', '/frame/dependents')).data).toEqual([])
})
