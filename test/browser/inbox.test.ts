import type { Frame, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { pageFaults, visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'
import { SmtpClient } from '../support/smtp-client.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** A stranger's server; whatever of a mail it is asked for, it was asked too much. */
const outside = 'https://outside.example'
const hostileHtml = `<!doctype html><html><head>
<meta http-equiv="refresh" content="0;url=${outside}/refresh"><base href="${outside}/">
<link rel="stylesheet" href="${outside}/style.css"><link rel="prefetch" href="${outside}/prefetch"><link rel="dns-prefetch" href="${outside}">
<style>@import url(${outside}/import.css); h1 { color: rgb(1, 2, 3); background: url(${outside}/background.png) }
@font-face { font-family: x; src: url(${outside}/font.woff) } p { font-family: x }</style>
<script>parent.taken = 1; document.title = 'taken'; fetch('${outside}/fetch')</script>
<script src="${outside}/script.js"></script></head>
<body onload="document.body.dataset.taken = 1"><h1>Hello</h1>
<img id="own" src="cid:logo" alt="logo"><img src="${outside}/picture.png" onerror="document.body.dataset.taken = 2" alt="">
<img srcset="${outside}/set.png 2x" alt=""><svg onload="document.body.dataset.taken = 3"><image href="${outside}/svg.png"/></svg>
<video src="${outside}/video.mp4" poster="${outside}/poster.png" autoplay></video><object data="${outside}/object"></object><embed src="${outside}/embed">
<iframe src="${outside}/nested"></iframe><iframe srcdoc="<script>top.taken = 1</script>"></iframe>
<p><a id="run" href="javascript:parent.taken=1">run</a> <a id="leave" href="${outside}/left" target="_top">leave</a>
<a id="blank" href="${outside}/blank" target="_blank" ping="${outside}/ping">new</a></p>
<form action="${outside}/form" method="post" target="_top"><input name="password"><button id="send">Send</button></form>
<div id="handler" onclick="document.body.dataset.taken = 4">click</div></body></html>`

const frameOf = async (tab: Page): Promise<Frame> => {
  const element = await tab.getByTitle('The email as its reader sees it').elementHandle()
  const frame = await element?.contentFrame()
  if (!frame) throw new Error('there is no frame')
  await frame.waitForSelector('body')
  return frame
}

/** A picture for everything that leaves the browser for another server, and what that was. What a policy blocks never leaves. */
async function answerOutside({ context }: DashboardVisit): Promise<string[]> {
  const asked: string[] = []
  await context.route(`${outside}/**`, (route) => {
    asked.push(route.request().url())
    return route.fulfill({ contentType: 'image/png', body: Buffer.from(pixel, 'base64') })
  })
  return asked
}

/** What was complained of besides what the policy of the frame blocked, which the console tells. */
async function otherComplaints({ tab, complaints, relay }: DashboardVisit): Promise<string[]> {
  await tab.goto(`${relay.baseUrl}/keys`)
  const blocked = /Content Security Policy|sandboxed|^request to (?:cid:|https:\/\/outside\.example\/)/
  return complaints.splice(0).filter((text) => !blocked.test(text))
}

test('nothing of a hostile mail runs, loads or leads anywhere, even when it is clicked', async () => {
  const visit = await visitDashboard()
  const { relay, tab, context } = visit
  const asked = await answerOutside(visit)
  const id = await relay.send('ann@inbox.example', {
    subject: 'Hostile',
    html: hostileHtml,
    attachments: [{ filename: 'logo.png', content: pixel, content_id: 'logo', content_type: 'image/png' }],
  })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  const frame = await frameOf(tab)
  await frame.waitForSelector('#handler')
  // Its styles and its own pictures are shown.
  expect(await frame.locator('h1').evaluate((node) => (globalThis as any).getComputedStyle(node).color)).toBe('rgb(1, 2, 3)')
  expect(await frame.locator('#own').evaluate((node) => (node as any).naturalWidth)).toBe(1)
  for (const target of ['#run', '#leave', '#blank', '#send', '#handler', 'h1']) await frame.locator(target).click({ force: true })
  await tab.getByRole('button', { name: 'Dark' }).click()
  expect(await frame.evaluate(() => (globalThis as any).document.body.dataset.taken)).toBeUndefined()
  expect(await tab.evaluate(() => (globalThis as any).taken)).toBeUndefined()
  expect(tab.url()).toBe(`${relay.baseUrl}/emails/${id}`)
  expect(context.pages()).toHaveLength(1)
  expect(asked).toEqual([])
  expect(await otherComplaints(visit)).toEqual([])
})

test('pictures from the web are loaded once somebody asks for them, and nothing else is', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const asked = await answerOutside(visit)
  const id = await relay.send('ann@inbox.example', { subject: 'Pictures', html: hostileHtml })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByText('Remote images are not loaded.').waitFor()
  await tab.getByRole('button', { name: 'Load', exact: true }).click()
  await expect.poll(() => asked).toContain(`${outside}/picture.png`)
  await tab.getByText('Remote images are not loaded.').waitFor({ state: 'detached' })
  // Browsers count a link that only fetches ahead as whatever is allowed.
  const pictures = ['prefetch', 'picture.png', 'set.png', 'svg.png', 'poster.png', 'background.png'].map((name) => `${outside}/${name}`)
  expect(asked.filter((url) => !pictures.includes(url))).toEqual([])
  expect(await otherComplaints(visit)).toEqual([])
})

test('an email is read as text, header and source, its files are downloaded, and it passes the rules', async () => {
  const { relay, tab } = await visitDashboard()
  const id = await relay.send('ann@inbox.example', {
    subject: 'Your receipt',
    html: '<p style="color: green">Thank you</p>',
    text: 'Thank you, as text',
    headers: { 'X-Note': '<b>bold</b>' },
    attachments: [{ filename: 'receipt.txt', content: btoa('three pens') }],
  })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  expect(await (await frameOf(tab)).locator('p').textContent()).toBe('Thank you')
  await tab.getByRole('tab', { name: 'Text' }).click()
  await tab.getByText('Thank you, as text').waitFor()
  await tab.getByRole('tab', { name: 'Headers' }).click()
  await tab.getByText('<b>bold</b>').waitFor()
  await tab.getByRole('tab', { name: 'Source' }).click()
  await tab.getByText('Content-Type: multipart/mixed', { exact: false }).waitFor()
  const source = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Download' }).click()
  expect((await source).suggestedFilename()).toBe(`${id}.eml`)
  await tab.getByRole('tab', { name: 'Attachments' }).click()
  await tab.getByText('receipt.txt').waitFor()
  const file = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Download' }).last().click()
  expect((await file).suggestedFilename()).toBe('receipt.txt')
  expect(await pageFaults(tab, relay.baseUrl, [['email', `/emails/${id}`]])).toEqual([])
})

test('a scheduled email is moved and canceled, and an address is suppressed', async () => {
  const { relay, tab } = await visitDashboard()
  const id = await relay.send('ann@inbox.example', { scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByRole('button', { name: 'Move' }).click()
  const later = new Date(relay.clock.now() + 7_200_000).toISOString().slice(0, 16)
  await tab.getByLabel('Send it at').fill(later)
  await tab.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
  await expect.poll(async () => (await relay.call('GET', `/api/emails/${id}`)).body.scheduled_at).toContain(later)
  await tab.getByRole('dialog').waitFor({ state: 'detached' })
  await tab.getByRole('button', { name: 'Cancel sending' }).click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Cancel sending' }).click()
  await tab.getByText('Canceled', { exact: true }).first().waitFor()
  await tab.getByRole('button', { name: 'Suppress an address' }).click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Suppress' }).click()
  await expect.poll(async () => (await relay.call('GET', '/api/suppressions/ann@inbox.example')).status).toBe(200)
})

test('content that is past its time says since when it is gone', async () => {
  const { relay, tab } = await visitDashboard({ settings: { content_retention: '1h' } })
  const id = await relay.send('ann@inbox.example', { subject: 'Old', html: '<p>Old</p>' })
  await expect.poll(async () => (await relay.recipients(id))['ann@inbox.example']?.status).toBe('delivered')
  await relay.relay.services.db.write([{ sql: 'delete from content' }])
  await tab.clock.install({ time: relay.clock.now() + 7_200_000 })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByText(/^Removed on .* \(content_retention\)\.$/).waitFor()
})

test('the list says why mail did not arrive, and shows all of what failed in one tab', async () => {
  const { relay, tab } = await visitDashboard({
    hooks: { rcpt: (to) => (to.startsWith('full') ? '550 5.2.2 mailbox is full' : undefined) },
  })
  const fine = await relay.send('ann@inbox.example', { subject: 'Fine' })
  await relay.send(['full@inbox.example', 'bob@inbox.example'], { subject: 'In part' })
  await expect.poll(async () => (await relay.recipients(fine))['ann@inbox.example']?.status).toBe('delivered')
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByText(/mailbox is full/).waitFor()
  await tab.getByRole('tab', { name: 'Failed' }).click()
  await tab.getByRole('link', { name: 'Fine' }).waitFor({ state: 'detached' })
  await tab.getByRole('link', { name: 'In part' }).waitFor()
})

/** A key whose mail stays in the sandbox. */
async function sandboxKey({ relay }: DashboardVisit): Promise<string> {
  const { body } = await relay.call('POST', '/api/api-keys', { name: 'test', permission: 'sending_access', sandbox: true })
  return body.token
}

const capture = async ({ relay }: DashboardVisit, token: string, fields: object): Promise<string> => {
  const answer = await fetch(`${relay.baseUrl}/api/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'app@sender.example', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello', ...fields }),
  })
  return ((await answer.json()) as { id: string }).id
}

test('what an app hands over by SMTP with a sandbox key is seen at once, and goes nowhere', async () => {
  const visit = await visitDashboard()
  const { relay, mx, tab } = visit
  await tab.getByRole('link', { name: 'Sandbox' }).first().click()
  await tab.getByText('Nothing captured yet.').waitFor()
  await tab.getByRole('button', { name: 'Connect' }).first().click()
  await tab.getByRole('button', { name: 'Create a sandbox key' }).click()
  const token = (await tab.locator('.token code').textContent()) ?? ''
  await tab.getByRole('tab', { name: 'SMTP' }).click()
  await tab.getByText('any', { exact: false }).first().waitFor()
  await tab.getByRole('button', { name: 'Close' }).click()
  await tab.getByText('Live', { exact: true }).waitFor()
  const client = await SmtpClient.logIn(relay.submissionPort, token)
  await client.command('MAIL FROM:<shop@anybody.example>')
  await client.command('RCPT TO:<petra@elsewhere.example>')
  await client.command('DATA')
  const header =
    'From: Shop <shop@anybody.example>\r\nTo: petra@elsewhere.example\r\nSubject: Your receipt\r\nContent-Type: text/html\r\n\r\n'
  const reply = await client.command(`${header}<p>Thank you</p>\r\n.`)
  expect(reply.code).toBe(250)
  await tab.getByRole('link', { name: /Your receipt/ }).click()
  await tab.getByRole('heading', { name: 'Your receipt' }).waitFor()
  expect(await (await frameOf(tab)).locator('p').textContent()).toBe('Thank you')
  await tab.getByRole('tab', { name: 'Checks' }).click()
  await tab.getByText('It has no text part.').waitFor()
  await tab.getByRole('button', { name: 'Check the links' }).click()
  await tab.getByText('It has no links.').waitFor()
  await tab.getByRole('tab', { name: 'Events' }).click()
  await tab.getByText('Delivered', { exact: true }).waitFor()
  expect(mx.messages).toEqual([])
})

test('the sandbox is searched, followed and emptied; what is new is marked', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  const token = await sandboxKey(visit)
  await capture(visit, token, { subject: 'Your receipt' })
  await capture(visit, token, { subject: 'Reset your password', to: 'li@inbox.example' })
  await tab.goto(`${relay.baseUrl}/sandbox`)
  await tab.getByRole('link', { name: /Reset your password/ }).waitFor()
  await tab.getByText('Live', { exact: true }).waitFor()
  expect(await tab.getByText('New:').count()).toBe(0)
  await tab.getByRole('searchbox').fill('li@ password')
  await tab.getByRole('link', { name: /Your receipt/ }).waitFor({ state: 'detached' })
  await tab.getByRole('searchbox').fill('')
  await capture(visit, token, { subject: 'Welcome' })
  await tab.getByRole('link', { name: /New: Welcome/ }).click()
  await tab.getByRole('heading', { name: 'Welcome' }).waitFor()
  expect(await tab.getByText('New:').count()).toBe(0)
  await tab.getByLabel('Open new emails as they come').check()
  await capture(visit, token, { subject: 'Your sign-in code' })
  await tab.getByRole('heading', { name: 'Your sign-in code' }).waitFor()
  await tab.getByRole('button', { name: 'Remove' }).click()
  await tab.getByText('Select an email.').waitFor()
  await tab.getByRole('button', { name: 'Empty' }).click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Empty' }).click()
  await tab.getByText('Nothing captured yet.').waitFor()
})

test('a mail can be seen as on a dark screen', async () => {
  const visit = await visitDashboard()
  const token = await sandboxKey(visit)
  const html = `<style>@media (prefers-color-scheme: dark) { p { color: rgb(9, 9, 9) } }</style><p>Hello</p>`
  const id = await capture(visit, token, { html })
  const { tab, relay } = visit
  // An emulated preference would hold for all frames.
  await tab.emulateMedia({ colorScheme: null })
  await tab.goto(`${relay.baseUrl}/sandbox/${id}`)
  const colour = async (): Promise<string> =>
    (await frameOf(tab)).locator('p').evaluate((node) => (globalThis as any).getComputedStyle(node).color)
  expect(await colour()).toBe('rgb(0, 0, 0)')
  await tab.getByRole('button', { name: 'Dark' }).click()
  await expect.poll(colour).toBe('rgb(9, 9, 9)')
})

test('a viewer sees the sandbox and changes nothing in it; a server in sandbox mode says so', async () => {
  const visit = await visitDashboard({ settings: { mode: 'sandbox' } })
  const { relay, tab } = visit
  await relay.send('ann@inbox.example', { subject: 'Captured' })
  await tab.getByText('This server is in sandbox mode').waitFor()
  await tab.getByRole('link', { name: 'Emails' }).first().click()
  await tab.getByRole('link', { name: /Captured/ }).waitFor()
  expect(tab.url()).toBe(`${relay.baseUrl}/sandbox`)
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await visit.logIn(await visit.addUser('viewer'))
  await tab.goto(`${relay.baseUrl}/sandbox`)
  await tab.getByRole('link', { name: /Captured/ }).click()
  await tab.getByRole('heading', { name: 'Captured' }).waitFor()
  for (const name of ['Empty', 'Connect', 'Remove']) expect(await tab.getByRole('button', { name }).count(), name).toBe(0)
})

test('the sandbox passes the rules, and is two pages on a phone', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  expect(await pageFaults(tab, relay.baseUrl, [['sandbox-empty', '/sandbox']])).toEqual([])
  const token = await sandboxKey(visit)
  await capture(visit, token, { subject: 'Reset your password' })
  const html = '<h1>Thank you, Petra</h1><p>We have packed your order 10482.</p><img src="https://outside.example/x.png" alt="">'
  const id = await capture(visit, token, { subject: 'Your receipt from Acme, order 10482', html })
  expect(
    await pageFaults(tab, relay.baseUrl, [
      ['sandbox', '/sandbox'],
      ['sandbox-message', `/sandbox/${id}`],
    ]),
  ).toEqual([])
  await tab.setViewportSize({ width: 390, height: 900 })
  await tab.goto(`${relay.baseUrl}/sandbox`)
  await tab.getByRole('link', { name: /Your receipt/ }).click()
  await tab.getByRole('link', { name: /Reset your password/ }).waitFor({ state: 'hidden' })
  await tab.locator('main').getByRole('link', { name: 'Sandbox' }).click()
  await tab.getByRole('link', { name: /Reset your password/ }).waitFor()
  expect(await otherComplaints(visit)).toEqual([])
})
