import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { openBrowser } from '../support/browser.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const page = (text: string): string => `<!doctype html><title>${text}</title><h1>${text}</h1>`

/** Serves pages on loopback; the mailbox's is what `mail` gives. */
async function serve(pages: (path: string) => string): Promise<string> {
  const server = createServer((req, res) => res.setHeader('Content-Type', 'text/html').end(pages(req.url ?? '/')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('one of three readers opens the mail and follows a link', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const settings = {
    delivery_port: String(mx.port),
    http_listen: `127.0.0.1:${port}`,
    base_url: baseUrl,
    webhooks_allow_private_addresses: 'true',
  }
  const relay = await startTestRelay(settings, { 'rcpt.example': { a: ['127.0.0.2'] } })
  onTestFinished(() => relay.stop())
  const receiver = await startReceiver(status(200))
  await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.opened', 'email.clicked'] })

  const shop = await serve((path) => page(`Shop ${path}`))
  const html = `<html><body><h1>News</h1><p><a id="shop" href="${shop}/offers?id=1&amp;of=2">Offers</a> <a href="${shop}/two">Two</a></p></body></html>`
  const id = await relay.send(['ann@rcpt.example', 'bob@rcpt.example', 'cat@rcpt.example'], {
    html,
    tracking: { opens: true, clicks: true },
  })
  await expect.poll(() => mx.messages.length).toBe(3)
  const mail = mx.messages.find(({ rcptTo }) => rcptTo[0] === 'bob@rcpt.example')?.data ?? Buffer.alloc(0)
  expect(await signatureVerdicts(relay, mail)).toEqual(['pass', 'pass'])

  const body = (await simpleParser(mail)).html || ''
  const mailbox = await serve(() => body)
  const browser = await openBrowser()
  // Chromium says in two fields that nobody sits before it; this one stands for somebody.
  const version = browser.version().split('.')[0]
  const context = await browser.newContext({
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 Safari/537.36`,
    extraHTTPHeaders: { 'sec-ch-ua': `"Not:A-Brand";v="8", "Chromium";v="${version}"` },
    locale: 'en-GB',
  })
  const tab = await context.newPage()
  await tab.goto(mailbox)
  const reader = async (): Promise<any> => {
    const { recipients } = (await relay.call('GET', `/api/emails/${id}`)).body
    return recipients.find(({ email }: { email: string }) => email === 'bob@rcpt.example')
  }
  await expect.poll(async () => (await reader()).open_count).toBe(1)
  // A reader looks before a link is followed.
  relay.clock.advance(10_000)
  await tab.click('#shop')
  await expect.poll(() => tab.title()).toBe('Shop /offers?id=1&of=2')
  await expect.poll(async () => (await reader()).click_count).toBe(1)
  expect(receiver.posts).toEqual([])

  relay.clock.advance(30_000)
  await expect.poll(() => receiver.posts.length).toBe(2)
  const told = receiver.posts.map(({ body: text }) => JSON.parse(text)).toSorted((one, other) => other.type.localeCompare(one.type))
  expect(told).toMatchObject([
    { type: 'email.opened', data: { to: 'bob@rcpt.example', bot: false } },
    { type: 'email.clicked', data: { to: 'bob@rcpt.example', link: `${shop}/offers?id=1&of=2`, bot: false } },
  ])
  const { recipients } = (await relay.call('GET', `/api/emails/${id}`)).body
  expect(recipients.map(({ open_count: opens, click_count: clicks }: any) => [opens, clicks]).toSorted()).toEqual([
    [0, 0],
    [0, 0],
    [1, 1],
  ])
})
