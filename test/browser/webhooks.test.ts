import { expect, test } from 'vitest'
import { pageFaults, visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'
import { startReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts'

const settings = { webhooks_retry_schedule: '1m' }

/** A visit to the page of a webhook that was told of one delivered email. */
async function visitWebhook(receiver: WebhookReceiver): Promise<DashboardVisit & { webhookId: string }> {
  const visit = await visitDashboard({ settings })
  const { body } = await visit.relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.delivered'] })
  await visit.relay.send('ann@inbox.example')
  await expect.poll(() => receiver.posts.length).toBe(1)
  await visit.tab.goto(`${visit.relay.baseUrl}/webhooks/${body.id}`)
  return { ...visit, webhookId: body.id }
}

test('a delivery is followed to its payload and the answers to each attempt, and sent again', async () => {
  const hostile = '<img src=x onerror="globalThis.taken=1"> try later'
  const receiver = await startReceiver(status(503, {}, hostile))
  const { relay, tab } = await visitWebhook(receiver)
  await tab.getByText('0 % of 1 in 24 hours, 1 waiting').waitFor()
  await tab.getByRole('link', { name: 'email.delivered' }).click()
  // A post that failed is not headed as if it had been delivered.
  await tab.getByRole('heading', { level: 1, name: 'Event email.delivered' }).waitFor()
  await tab.getByText('Next attempt at').waitFor()
  const year = new Date(relay.clock.now()).getFullYear()
  await tab.getByRole('listitem').filter({ hasText: 'Attempt 1' }).getByText(String(year)).waitFor()
  await tab.getByText(hostile).waitFor()
  await tab.getByText('"to": "ann@inbox.example"').waitFor()
  receiver.behave = status(204)
  relay.clock.advance(60_000)
  await tab.getByText('Attempt 2').waitFor({ timeout: 90_000 })
  await tab.getByRole('button', { name: 'Send again' }).click()
  await expect.poll(() => receiver.posts.length).toBe(3)
  await tab.getByRole('link', { name: 'Webhook', exact: true }).click()
  await expect.poll(() => tab.getByRole('row', { name: /email.delivered/ }).count()).toBe(2)
  await tab.getByLabel('Status').selectOption('failed')
  await tab.getByText('No delivery matches.').waitFor()
  await tab.getByRole('button', { name: 'Clear the filters' }).click()
  await tab.reload()
  await tab.getByText('100 % of 2 in 24 hours').waitFor()
  await tab.getByRole('link', { name: 'ann@inbox.example' }).first().click()
  await tab.getByRole('heading', { level: 1, name: 'Hello' }).waitFor()
  const told = tab.getByRole('region', { name: 'Webhook deliveries' })
  expect(await told.getByRole('row', { name: /email.delivered.*204/ }).count()).toBe(2)
  await told.getByText(receiver.url).first().waitFor()
  await told.getByRole('link', { name: 'email.delivered' }).first().click()
  await tab.getByText('"to": "ann@inbox.example"').waitFor()
})

test('what failed within a period is counted and then sent again', async () => {
  const receiver = await startReceiver(status(500))
  const { relay, tab, webhookId } = await visitWebhook(receiver)
  relay.clock.advance(60_000)
  await expect.poll(async () => (await relay.call('GET', `/api/webhooks/${webhookId}`)).body.stats.failed).toBe(1)
  receiver.behave = status(200)
  // It stands at the top, before everything that was posted.
  const replay = tab.getByRole('button', { name: 'Send what failed again' })
  const heights = [replay, tab.getByRole('heading', { name: 'Deliveries' })].map(async (each) => (await each.boundingBox())?.y ?? NaN)
  expect(await heights[0]).toBeLessThan((await heights[1]) ?? NaN)
  await replay.click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByText('1 event is sent again.').waitFor()
  await dialog.getByLabel('Since').fill('2037-01-01T00:00')
  await dialog.getByText('There is nothing to send again.').waitFor()
  expect(await dialog.getByRole('button', { name: 'Send again' }).isDisabled()).toBe(true)
  await dialog.getByLabel('Since').fill('2020-01-01T00:00')
  await dialog.getByText('1 event is sent again.').waitFor()
  await dialog.getByLabel('Until').fill('2020-01-02T00:00')
  await dialog.getByText('There is nothing to send again.').waitFor()
  await dialog.getByLabel('Until').fill('2037-01-01T00:00')
  await dialog.getByRole('button', { name: 'Send again' }).click()
  await expect.poll(async () => (await relay.call('GET', `/api/webhooks/${webhookId}`)).body.stats.success).toBe(1)
})

test('one that was disabled says why, and is enabled with what it missed', async () => {
  const receiver = await startReceiver(status(500))
  const visit = await visitWebhook(receiver)
  const { relay, tab, webhookId } = visit
  const state = async () => (await relay.call('GET', `/api/webhooks/${webhookId}`)).body
  // Ten deliveries given up, and nothing taken for five days.
  for (let sent = 1; sent < 10; sent++) await relay.send('ann@inbox.example')
  await expect.poll(() => receiver.posts.length).toBe(10)
  relay.clock.advance(5 * 24 * 3_600_000)
  const reasonLater = async (): Promise<string | null> => {
    relay.clock.advance(60_000)
    return (await state()).disabled_reason
  }
  await expect.poll(reasonLater).toBe('failures')
  await tab.context().clearCookies()
  await visit.logIn(await visit.addUser('admin'))
  await tab.goto(`${relay.baseUrl}/webhooks/${webhookId}`)
  await tab.getByText('Disabled after too many failures.').waitFor()
  await tab.getByText('Nothing has been accepted since').waitFor()
  receiver.behave = status(200)
  await tab.getByRole('button', { name: 'Enable and send what failed' }).click()
  await tab.getByText(/events? (?:is|are) sent again/).waitFor()
  await tab.getByRole('dialog').getByRole('button', { name: 'Enable and send what failed' }).click()
  await tab.getByText('Enabled', { exact: true }).waitFor()
  await expect.poll(async () => (await state()).stats.success).toBeGreaterThan(0)
  expect((await state()).failing_since).toBeNull()
})

test('the secret is shown on request and replaced; a viewer has neither it nor a button', async () => {
  const receiver = await startReceiver(status(200))
  const visit = await visitWebhook(receiver)
  const { relay, tab, webhookId } = visit
  const secretNow = async (): Promise<string> => (await relay.call('GET', `/api/webhooks/${webhookId}`)).body.signing_secret
  const first = await secretNow()
  await tab.getByRole('button', { name: 'Show the secret' }).waitFor()
  expect(await tab.getByText(first).count()).toBe(0)
  await tab.getByRole('button', { name: 'Show the secret' }).click()
  await tab.getByText(first).waitFor()
  await tab.getByRole('button', { name: 'New secret' }).click()
  await tab.getByLabel('The old one works for').selectOption('1 hour')
  await tab.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
  await tab.getByText('The previous secret works until').waitFor()
  const second = await secretNow()
  expect(second).not.toBe(first)
  await tab.getByText(second).waitFor()
  await tab.getByRole('tab', { name: 'Go' }).click()
  await tab.getByText('func IsGenuine').waitFor()
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await visit.logIn(await visit.addUser('viewer'))
  await tab.goto(`${relay.baseUrl}/webhooks/${webhookId}`)
  await tab.getByRole('link', { name: 'email.delivered' }).waitFor()
  expect(await tab.getByRole('button', { name: /secret|test|Change|again|Disable|Remove/i }).count()).toBe(0)
})

test('its URL, events and shape are changed, and it is removed', async () => {
  const receiver = await startReceiver(status(200))
  const { relay, tab, webhookId } = await visitWebhook(receiver)
  await tab.getByRole('button', { name: 'Change the webhook' }).click()
  const dialog = tab.getByRole('dialog')
  await dialog.getByLabel('URL').fill(`${receiver.url}?v=2`)
  await dialog.getByLabel('Bounced').check()
  await dialog.getByLabel('Format').selectOption('Postmark')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await tab.getByRole('heading', { name: `${receiver.url}?v=2` }).waitFor()
  expect((await relay.call('GET', `/api/webhooks/${webhookId}`)).body).toMatchObject({
    url: `${receiver.url}?v=2`,
    events: ['email.delivered', 'email.bounced'],
    payload: 'postmark',
  })
  await tab.getByRole('button', { name: 'Remove' }).click()
  await tab.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await tab.getByText('No webhook yet.').waitFor()
})

test('the pages of webhooks pass the rules of every page', async () => {
  const receiver = await startReceiver(status(503, {}, 'Service unavailable, try later'))
  const { relay, tab, webhookId } = await visitWebhook(receiver)
  await relay.call('POST', '/api/webhooks', { url: 'https://unused.example/hook', description: 'The other one' })
  const { body } = await relay.call('GET', `/api/webhooks/${webhookId}/deliveries`)
  const pages: [string, string][] = [
    ['webhooks', '/webhooks'],
    ['webhook', `/webhooks/${webhookId}`],
    ['delivery', `/webhooks/${webhookId}/deliveries/${body.data[0].id}`],
  ]
  expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
})
