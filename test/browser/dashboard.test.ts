import { expect, test } from 'vitest'
import { startReceiver, status } from '../support/webhook-receiver.ts'
import { keepScreenshot, pageFaults, visitDashboard } from '../support/dashboard-visit.ts'

test('an email is followed from the list to its delivery, live', async () => {
  const { relay, mx, tab } = await visitDashboard()
  await tab.getByRole('link', { name: 'Emails' }).first().click()
  await tab.getByRole('heading', { level: 1, name: 'Emails' }).waitFor()
  await tab.getByText('Live', { exact: true }).waitFor()
  await relay.send('ann@inbox.example', { subject: 'Reset your password' })
  await tab.getByRole('link', { name: 'Reset your password' }).click()
  await tab.getByRole('heading', { name: 'Reset your password' }).waitFor()
  await expect.poll(() => mx.messages.length).toBe(1)
  await tab.getByText('Delivered', { exact: true }).first().waitFor()
  await tab.getByText(/^Attempt 1/).click()
  await tab.getByText('RCPT TO:<ann@inbox.example>').waitFor()
  await tab.goBack()
  await tab.getByRole('heading', { level: 1, name: 'Emails' }).waitFor()
})

test('a bounce is explained before any code is shown', async () => {
  const { relay, tab } = await visitDashboard({ hooks: { rcpt: () => '550 5.2.2 mailbox is full' } })
  const id = await relay.send(['full@inbox.example', 'other@inbox.example'])
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab
    .getByText(/did not get it: The recipient's mailbox is full|mailbox is full/i)
    .first()
    .waitFor()
})

test('a suppressed email says why, since when and by what, and is not offered to be sent again', async () => {
  const { relay, tab } = await visitDashboard({ hooks: { rcpt: () => '550 5.1.1 no such user' } })
  const first = await relay.send('gone@inbox.example', { subject: 'The first' })
  await expect.poll(async () => (await relay.recipients(first))['gone@inbox.example']?.status).toBe('bounced')
  const second = await relay.send('gone@inbox.example', { subject: 'The second' })
  await tab.goto(`${relay.baseUrl}/emails/${second}`)
  await tab.getByText('gone@inbox.example did not get it: The address is on your suppression list', { exact: false }).waitFor()
  await tab.getByText(/An earlier email to this address bounced on .*no such user/).waitFor()
  expect(await tab.getByRole('button', { name: /Send again/ }).count()).toBe(0)
  expect(await tab.getByText('hard', { exact: false }).count()).toBe(0)
  await keepScreenshot(tab, 'suppressed')
  await tab.getByRole('link', { name: 'See that email' }).click()
  await tab.getByRole('heading', { name: 'The first' }).waitFor()
  await tab.getByText('This put the address on your suppression list.').waitFor()
  expect(await tab.getByText('An earlier email').count()).toBe(0)
  expect(await tab.getByRole('button', { name: /Send again|Suppress an address/ }).count()).toBe(0)
})

test('an address that somebody added leads to who did', async () => {
  const { relay, tab } = await visitDashboard()
  await relay.call('POST', '/api/suppressions', { email: 'never@inbox.example', reason: 'asked by phone' })
  const id = await relay.send('never@inbox.example')
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByText(/Somebody added or imported the address on .*asked by phone/).waitFor()
  await keepScreenshot(tab, 'suppressed-by-hand')
  await tab.getByRole('link', { name: 'See who added it' }).click()
  await tab.getByText('suppressions.create', { exact: true }).waitFor()
})

test(
  'every page passes the accessibility rules in both themes, wide and narrow, and never scrolls sideways',
  { timeout: 300_000 },
  async () => {
    const { relay, mx, tab } = await visitDashboard()
    const id = await relay.send(['ann@inbox.example', 'bob@inbox.example'], {
      subject: 'Your receipt',
      tags: [{ name: 'kind', value: 'receipt' }],
    })
    await expect.poll(() => mx.messages.length).toBeGreaterThan(0)
    await relay.call('POST', '/api/domains', { name: 'acme.example' })
    await relay.call('POST', '/api/suppressions', { email: 'gone@inbox.example', reason: 'asked by phone' })
    const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['email.delivered'] })
    const pages: [name: string, path: string][] = [
      ['overview', '/'],
      ['emails', '/emails'],
      ['email', `/emails/${id}`],
      ['domains', '/domains'],
      ['domain', '/domains/acme.example'],
      ['keys', '/keys'],
      ['suppressions', '/suppressions'],
      ['webhooks', '/webhooks'],
      ['webhook', `/webhooks/${webhook.id}`],
      ['queue', '/queue'],
      ['health', '/health'],
      ['settings', '/settings'],
      ['not-found', '/nothing'],
    ]
    expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
  },
)

test('a domain is added, its records are shown, and a key is made whose token works', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/domains`)
  await tab.getByRole('button', { name: 'Add a domain' }).click()
  await tab.getByLabel('Domain name').fill('acme.example')
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByRole('heading', { name: 'acme.example' }).waitFor()
  await tab.getByRole('heading', { name: 'Required to send mail' }).waitFor()
  const download = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Zone file' }).click()
  expect((await download).suggestedFilename()).toBe('acme.example.zone')
  await tab.getByRole('link', { name: 'API keys' }).first().click()
  await tab.getByRole('button', { name: 'Create an API key' }).click()
  await tab.getByLabel('What is it for?').fill('shop')
  await tab.getByRole('dialog').getByRole('button', { name: 'Create an API key' }).click()
  const token = await tab.locator('.token code').textContent()
  const answer = await fetch(`${relay.baseUrl}/api/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'app@sender.example', to: 'ann@inbox.example', subject: 'Hello', text: 'Hello' }),
  })
  expect(answer.status).toBe(200)
})

test('a log-out in one tab ends all tabs, and one comes back to the page where one was', async () => {
  const visit = await visitDashboard()
  const { relay, tab, openTab } = visit
  const other = await openTab()
  await other.goto(`${relay.baseUrl}/domains`)
  await other.getByRole('heading', { name: 'Domains' }).waitFor()
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await other.getByRole('heading', { name: 'Log in' }).waitFor()
  const viewer = await visit.addUser('viewer')
  await other.getByLabel('Email address').fill(viewer.email)
  await other.getByLabel('Password').fill(viewer.password)
  await other.getByRole('button', { name: 'Log in' }).click()
  await other.getByRole('heading', { name: 'Domains' }).waitFor()
  expect(await other.getByRole('button', { name: 'Add a domain' }).count()).toBe(0)
})

test('what a stranger wrote is text: no script of it runs', async () => {
  const hostile = `"><img src=x onerror="globalThis.taken=1"><script>globalThis.taken=1</script>{{7*7}}`
  const { relay, tab } = await visitDashboard({ hooks: { rcpt: () => `550 5.1.1 ${hostile}` } })
  const id = await relay.send('ann@inbox.example', { subject: hostile, html: hostile, metadata: { note: hostile } })
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await tab.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(async () => (await relay.recipients(id))['ann@inbox.example']?.status).toBe('bounced')
  await tab.getByText('Bounced', { exact: true }).first().waitFor()
  expect(await tab.getByRole('heading', { level: 1 }).textContent()).toBe(hostile)
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByRole('heading', { level: 1 }).waitFor()
  expect(await tab.evaluate(() => (globalThis as { taken?: number }).taken)).toBeUndefined()
})

test('an operator sees what waits for whom, holds it, and lets it go', async () => {
  const { relay, tab } = await visitDashboard({ hooks: { rcpt: () => '451 4.7.1 Greylisted, come back later' } })
  await relay.send('ann@inbox.example')
  await tab.getByRole('link', { name: 'Queue' }).first().click()
  await tab.getByText('451 4.7.1 Greylisted').waitFor()
  await tab.getByRole('button', { name: 'Hold', exact: true }).click()
  await tab.getByRole('button', { name: 'Release' }).click()
  await tab.getByRole('button', { name: 'Hold', exact: true }).waitFor()
})

test('a webhook is added and tested, and a suppressed address is found and removed', async () => {
  const { relay, tab } = await visitDashboard()
  const receiver = await startReceiver(status(503))
  await tab.goto(`${relay.baseUrl}/webhooks`)
  await tab.getByRole('button', { name: 'Add a webhook' }).first().click()
  await tab.getByLabel('URL').fill(receiver.url)
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByRole('button', { name: 'Send a test' }).click()
  await tab.getByText('The test was not accepted.').waitFor()
  await tab.getByText(/^Status 503/).waitFor()
  await relay.call('POST', '/api/suppressions', { email: 'gone@inbox.example' })
  await tab.getByRole('link', { name: 'Suppressions' }).first().click()
  await tab.getByLabel('Address begins with').fill('gone@')
  await tab.getByLabel('Address begins with').press('Enter')
  await tab.getByRole('link', { name: 'gone@inbox.example' }).waitFor()
  await tab.getByRole('button', { name: 'Remove' }).click()
  await tab.getByText('gone@inbox.example gets mail again.').waitFor()
})

test('a browser keeps the language and the look that were chosen', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByLabel('Appearance').selectOption('dark')
  expect(await tab.locator('html').getAttribute('data-theme')).toBe('dark')
  await tab.getByLabel('Language').selectOption('de')
  await tab.getByRole('navigation', { name: 'Hauptmenü' }).waitFor()
  await tab.goto(`${relay.baseUrl}/emails`)
  await tab.getByRole('heading', { level: 1, name: 'E-Mails' }).waitFor()
  expect(await tab.locator('html').getAttribute('lang')).toBe('de')
  expect(await tab.locator('html').getAttribute('data-theme')).toBe('dark')
})
