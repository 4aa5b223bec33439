import { request } from 'node:http'
import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } }
const html =
  '<html><body><p>Hello</p><a href="https://shop.example/?a=1&amp;b=2">Shop</a> <A HREF=\'https://shop.example/two\'>Two</A></body></html>'
const safari = {
  'user-agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  accept: 'text/html',
  'accept-language': 'de-DE',
}

async function start(settings: Record<string, string> = {}) {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', base_url: 'http://mail.test:8080', ...settings },
    zone,
  )
  onTestFinished(() => relay.stop())
  /** The HTML that each recipient got. */
  const delivered = async (count: number): Promise<Record<string, string>> => {
    await expect.poll(() => mx.messages.length).toBe(count)
    // People take their time.
    relay.clock.advance(600_000)
    return Object.fromEntries(
      await Promise.all(
        mx.messages.map(async ({ rcptTo, data }) => [rcptTo[0]?.replace(/@.*/, '') ?? '', (await simpleParser(data)).html || '']),
      ),
    )
  }
  const fetchLink = (url: string, options: RequestInit = {}): Promise<Response> =>
    fetch(url.replace('http://mail.test:8080', relay.baseUrl), { redirect: 'manual', headers: safari, ...options })
  const reader = async (id: string, name: string): Promise<any> => {
    const { body } = await relay.call('GET', `/api/emails/${id}`)
    return body.recipients.find(({ email }: { email: string }) => email === `${name}@rcpt.example`)
  }
  const events = async (id: string): Promise<any[]> =>
    (await relay.call('GET', `/api/events?email_id=${id}&order=asc`)).body.data.filter(({ type }: { type: string }) =>
      /opened|clicked/.test(type),
    )
  return { mx, relay, delivered, fetchLink, reader, events }
}

const linksIn = (page: string): string[] =>
  Array.from(page.matchAll(/href=["']?(http:\/\/mail\.test:8080\/t\/[^"' >]+)/gi), ([, url]) => url as string)
const pictureIn = (page: string): string => /<img src="(http:\/\/mail\.test:8080\/t\/o\/[^"]+)"/.exec(page)?.[1] ?? ''

test('an open and a click are counted at once for the one of three who did it, and told when they have settled', async () => {
  const { relay, delivered, fetchLink, reader, events } = await start()
  const id = await relay.send(['ann@rcpt.example', 'bob@rcpt.example', 'cat@rcpt.example'], {
    html,
    tracking: { opens: true, clicks: true },
  })
  const pages = await delivered(3)
  const bob = pages['bob'] ?? ''
  expect(linksIn(bob)).toHaveLength(2)
  expect(new Set(Object.values(pages).flatMap(linksIn)).size).toBe(6)

  const opened = await fetchLink(pictureIn(bob))
  expect(opened.status).toBe(200)
  expect(opened.headers.get('content-type')).toBe('image/gif')
  expect(opened.headers.get('cache-control')).toContain('no-store')
  const clicked = await fetchLink(linksIn(bob)[0] ?? '')
  expect(clicked.status).toBe(302)
  expect(clicked.headers.get('location')).toBe('https://shop.example/?a=1&b=2')
  await expect.poll(async () => (await reader(id, 'bob')).click_count).toBe(1)
  expect(await reader(id, 'bob')).toMatchObject({ open_count: 1, opened_at: expect.any(String), clicked_at: expect.any(String) })
  expect(await events(id)).toEqual([])
  relay.clock.advance(30_000)
  await expect.poll(() => events(id)).toHaveLength(2)
  expect(await events(id)).toMatchObject([
    {
      type: 'email.opened',
      data: { to: 'bob@rcpt.example', ip_address: '127.0.0.0', user_agent: safari['user-agent'], bot: false, bot_reason: null },
    },
    { type: 'email.clicked', data: { to: 'bob@rcpt.example', link: 'https://shop.example/?a=1&b=2', bot: false } },
  ])
  for (const other of ['ann', 'cat']) expect(await reader(id, other)).toMatchObject({ open_count: 0, click_count: 0, opened_at: null })
})

test('HEAD is not passed on and never counts; a link that was changed leads nowhere', async () => {
  const { relay, delivered, fetchLink, reader } = await start()
  const id = await relay.send('ann@rcpt.example', { html, tracking: { opens: true, clicks: true } })
  const { ann = '' } = await delivered(1)
  const [link = '', other = ''] = linksIn(ann)
  const head = await fetchLink(link, { method: 'HEAD' })
  expect([head.status, head.headers.get('location')]).toEqual([200, null])
  expect((await fetchLink(pictureIn(ann), { method: 'HEAD' })).status).toBe(200)
  expect((await fetchLink(link, { method: 'POST' })).status).toBe(405)
  const changed = [
    link.slice(0, -1),
    `${link}A`,
    link.replace(/\/c\//, '/o/'),
    `${link}/x`,
    pictureIn(ann).replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  ]
  // The target of another message.
  const foreign = await relay.send('bob@rcpt.example', { html, tracking: { clicks: true } })
  const { bob = '' } = await delivered(2)
  changed.push(`${link.slice(0, link.lastIndexOf('/'))}/${(linksIn(bob)[0] ?? '').split('/').at(-1)}`)
  for (const url of changed) expect([url, (await fetchLink(url)).status]).toEqual([url, 404])
  expect((await fetchLink(`${other}?utm_source=mail`)).status).toBe(302)
  await expect.poll(async () => (await reader(id, 'ann')).click_count).toBe(1)
  expect(await reader(id, 'ann')).toMatchObject({ open_count: 0 })
  expect(await reader(foreign, 'bob')).toMatchObject({ click_count: 0 })
})

test('the domain says what holds where an email does not, and an email may say otherwise', async () => {
  const { relay, delivered } = await start()
  const { body } = await relay.call('PATCH', '/api/domains/sender.example', { open_tracking: true, click_tracking: true })
  expect(body.object).toBe('domain')
  await relay.send('all@rcpt.example', { html })
  await relay.send('opens@rcpt.example', { html, tracking: { clicks: false } })
  await relay.send('none@rcpt.example', { html, tracking: { opens: false, clicks: false } })
  const { all = '', opens = '', none = '' } = await delivered(3)
  expect([linksIn(all).length, pictureIn(all) !== '']).toEqual([2, true])
  expect([linksIn(opens).length, pictureIn(opens) !== '']).toEqual([0, true])
  expect(none.trimEnd()).toBe(html)
  const { data } = (await relay.call('GET', '/api/emails')).body
  const trackingOf = async ({ id }: { id: string }) => (await relay.call('GET', `/api/emails/${id}`)).body.tracking
  expect(await Promise.all(data.map(trackingOf))).toEqual([
    { opens: false, clicks: false, anonymous: false },
    { opens: true, clicks: false, anonymous: false },
    { opens: true, clicks: true, anonymous: false },
  ])
})

test('machines are counted and posted only where they are asked for', async () => {
  const { relay, delivered, fetchLink, reader, events } = await start()
  const [people, all] = [await startReceiver(status(200)), await startReceiver(status(200))]
  const subscribe = (url: string, more = {}) => relay.call('POST', '/api/webhooks', { url, events: ['email.opened'], ...more })
  await subscribe(people.url)
  await subscribe(all.url, { include_bots: true, payload: 'extended' })
  const id = await relay.send('ann@rcpt.example', { html, tracking: { opens: true } })
  const { ann = '' } = await delivered(1)
  await fetchLink(pictureIn(ann), { headers: { 'user-agent': 'Mozilla/5.0' } })
  await fetchLink(pictureIn(ann))
  await expect.poll(async () => (await reader(id, 'ann')).open_count).toBe(1)
  relay.clock.advance(30_000)
  await expect.poll(() => events(id)).toHaveLength(2)
  expect((await events(id)).map(({ data }) => [data.bot, data.bot_reason])).toEqual([
    [true, 'apple_mpp'],
    [false, null],
  ])
  await expect.poll(() => all.posts.length).toBe(2)
  await expect.poll(() => people.posts.length).toBe(1)
  const [told, ...allTold] = [people, all].flatMap(({ posts }) => posts.map(({ body }) => JSON.parse(body).data))
  expect(told).toMatchObject({ bot: false })
  expect(told).not.toHaveProperty('bot_reason')
  expect(new Set(allTold.map((data) => data.bot_reason))).toEqual(new Set(['apple_mpp', null]))
})

test('of an email that asks for it, nothing of its readers is kept', async () => {
  const { relay, delivered, fetchLink, events } = await start()
  const id = await relay.send('ann@rcpt.example', { html, tracking: { opens: true, anonymous: true } })
  await fetchLink(pictureIn((await delivered(1))['ann'] ?? ''))
  await expect.poll(async () => (await relay.call('GET', `/api/emails/${id}`)).body.recipients[0].open_count).toBe(1)
  relay.clock.advance(30_000)
  await expect.poll(() => events(id)).toHaveLength(1)
  expect((await events(id))[0].data).toMatchObject({ ip_address: null, user_agent: null })
})

test('what has not settled when the server stops is told after the next start', async () => {
  const { relay, delivered, fetchLink, reader, events } = await start()
  const id = await relay.send('ann@rcpt.example', { html, tracking: { opens: true } })
  await fetchLink(pictureIn((await delivered(1))['ann'] ?? ''))
  await expect.poll(async () => (await reader(id, 'ann')).open_count).toBe(1)
  await relay.restart()
  expect(await events(id)).toEqual([])
  relay.clock.advance(30_000)
  await expect.poll(() => events(id)).toHaveLength(1)
})

test('no more than a hundred opens of a recipient are kept', async () => {
  const { relay, delivered, fetchLink, reader } = await start()
  const id = await relay.send('ann@rcpt.example', { html, tracking: { opens: true } })
  const picture = pictureIn((await delivered(1))['ann'] ?? '')
  for (let i = 0; i < 130; i++) expect((await fetchLink(picture)).status).toBe(200)
  await expect.poll(async () => (await reader(id, 'ann')).open_count).toBe(100)
  await relay.restart()
  expect((await fetchLink(picture)).status).toBe(200)
  const second = await relay.send('bob@rcpt.example', { html, tracking: { opens: true } })
  await fetchLink(pictureIn((await delivered(2))['bob'] ?? ''))
  await expect.poll(async () => (await reader(second, 'bob')).open_count).toBe(1)
  expect((await reader(id, 'ann')).open_count).toBe(100)
})

test('mail by SMTP is tracked where it asks, in its own transfer encoding, and other parts stay as they are', async () => {
  const { mx, relay } = await start()
  const parts = [
    '--b1\r\nContent-Type: multipart/alternative; boundary=b2\r\n\r\n--b2\r\nContent-Type: text/plain\r\n\r\nhttps://shop.example/text  \r\n',
    `--b2\r\nContent-Type: text/html; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(html).toString('base64')}\r\n--b2--\r\n`,
    '--b1\r\nContent-Type: text/html; name=a.html\r\nContent-Disposition: attachment\r\n\r\n<a href="https://shop.example/file">file</a>\r\n--b1--\r\n',
  ]
  const message = (more: string): string =>
    `From: app@sender.example\r\nTo: ann@rcpt.example\r\nSubject: Hi\r\nMIME-Version: 1.0\r\n${more}Content-Type: multipart/mixed; boundary="b1"\r\n\r\n${parts.join('')}`
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const send = (name: string, more: string) => client.send(message(more), { from: 'app@sender.example', to: [`${name}@rcpt.example`] })
  expect((await send('ann', 'X-Tracking: opens, clicks\r\n')).code).toBe(250)
  expect((await send('bob', '')).code).toBe(250)
  expect((await send('cat', 'X-Tracking: true\r\nDKIM-Signature: v=1; a=rsa-sha256; d=x.example; s=s; h=From; bh=x; b=x\r\n')).code).toBe(
    250,
  )
  await expect.poll(() => mx.messages.length).toBe(3)
  const {
    ann = '',
    bob,
    cat,
  } = Object.fromEntries(mx.messages.map(({ rcptTo, data }) => [rcptTo[0]?.split('@')[0], data.toString('latin1')]))
  for (const untracked of [bob, cat]) expect(untracked).toContain(parts.join(''))
  expect(ann).not.toContain('X-Tracking')
  expect(ann).toContain(parts[0])
  expect(ann).toContain(parts[2])
  expect(ann).toContain('Content-Transfer-Encoding: base64\r\n')
  expect(linksIn((await simpleParser(ann)).html || '')).toHaveLength(2)
  expect((await send('dan', 'X-Tracking: everything\r\n')).code).toBe(550)
})

test('a tracking host has the links of its domain once it is found, and answers nothing else', async () => {
  const { relay, delivered } = await start({ tracking_hosts: 'always', base_url: 'http://mail.test:8080' })
  relay.dns.zone['links.sender.example'] = { cname: 'mail.test' }
  const appLinks = { 'assetlinks.json': [{ relation: ['delegate_permission/common.handle_all_urls'] }] }
  expect((await relay.call('PATCH', '/api/domains/sender.example', { tracking_subdomain: 'links', app_links: appLinks })).status).toBe(200)
  await relay.send('before@rcpt.example', { html, tracking: { clicks: true } })
  const before = (await delivered(1))['before'] ?? ''
  expect(linksIn(before)).toHaveLength(2)
  await relay.call('POST', '/api/domains/sender.example/verify')
  const tracking = async (): Promise<any> =>
    (await relay.call('GET', '/api/domains/sender.example')).body.records.find(({ record }: any) => record === 'Tracking')
  await expect.poll(async () => (await tracking()).status).toBe('verified')
  await relay.send('after@rcpt.example', { html, tracking: { clicks: true } })
  const link = /href="https:\/\/links\.sender\.example(\/t\/c\/[^"]+)"/.exec((await delivered(2))['after'] ?? '')?.[1] ?? ''

  const port = new URL(relay.baseUrl).port
  const at = (path: string, host = 'Links.Sender.example:443'): Promise<{ status: number; location: string | undefined; text: string }> =>
    new Promise((resolve, reject) => {
      const req = request({ host: '127.0.0.1', port, path, headers: { host } }, (res) => {
        let text = ''
        res
          .on('data', (bytes: Buffer) => (text += bytes.toString()))
          .on('end', () => resolve({ status: res.statusCode ?? 0, location: res.headers.location, text }))
      })
      req.on('error', reject).end()
    })
  expect(await at(link)).toMatchObject({ status: 302, location: 'https://shop.example/?a=1&b=2' })
  // Nobody's link leads on from the host of somebody else, nor a link at base_url from a tracking host.
  expect((await at(link, 'mail.test')).status).toBe(404)
  expect((await at(new URL(linksIn(before)[0] ?? '').pathname)).status).toBe(404)
  expect((await at(new URL(linksIn(before)[0] ?? '').pathname, 'mail.test')).status).toBe(302)
  expect(JSON.parse((await at('/.well-known/assetlinks.json')).text)).toEqual(appLinks['assetlinks.json'])
  for (const path of [
    '/',
    '/api/emails',
    '/healthz',
    '/docs',
    '/openapi.json',
    '/.well-known/other',
    '/.well-known/toString',
    '/.well-known/apple-app-site-association',
  ]) {
    expect([path, (await at(path)).status]).toEqual([path, 404])
  }
  expect((await at('/u/abc')).text).toContain('unsubscribe')
  expect((await at('/healthz', 'links.sender.example.')).status).toBe(404)
  expect((await at('/healthz', 'mail.test')).status).toBe(200)
})
