import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { faultsShown, keepScreenshot, visitDashboard } from '../support/dashboard-visit.ts'

test('emails are found by what somebody pasted, a part or a day of theirs, and never with a refusal', { timeout: 300_000 }, async () => {
  const { relay, tab, context } = await visitDashboard()
  const first = await relay.send('ann@inbox.example', { subject: 'First order' })
  await relay.send('bob@inbox.example', { subject: 'Second thing' })
  const links = (): Promise<string[]> => tab.locator('#emails a.row').allTextContents()
  await tab.goto(`${relay.baseUrl}/emails`)
  await expect.poll(links).toEqual(['Second thing', 'First order'])
  const fill = async (label: string, text: string): Promise<void> => {
    await tab.goto(`${relay.baseUrl}/emails`)
    await tab.getByLabel(label, { exact: true }).fill(text)
    await tab.getByLabel(label, { exact: true }).press('Enter')
  }
  for (const typed of ['  ann@inbox.example ', 'Ann Lee <ann@inbox.example>', 'ann', 'nn@inb']) {
    await fill('Recipient', typed)
    await expect.poll(links, { message: typed }).toEqual(['First order'])
  }
  await fill('Recipient', '@inbox.example')
  await expect.poll(links).toHaveLength(2)
  await fill('Subject', ' ORDER ')
  await expect.poll(links).toEqual(['First order'])
  await keepScreenshot(tab, 'filters')
  for (const [label, typed] of [
    ['Recipient', 'x, y <'],
    ['From', '%'],
    ['Tag', 'order id'],
    ['Subject', '100%'],
  ] as const) {
    await fill(label, typed)
    await tab.getByText('No email matches.').waitFor()
    expect(await tab.getByRole('alert').count(), typed).toBe(0)
  }
  for (const path of ['/emails?since=yesterday', '/emails?domain_id=x', '/people?view=audit&until=x', '/emails?status=gone']) {
    await tab.goto(relay.baseUrl + path)
    await tab.getByRole('button', { name: 'Clear the filters' }).waitFor()
    expect(await tab.getByRole('alert').count(), path).toBe(0)
    expect(await faultsShown(tab)).toEqual([])
  }

  // A day is that of the reader, where it is another than that of UTC.
  const { body: email } = await relay.call('GET', `/api/emails/${first}`)
  const at = new Date(email.created_at as string)
  const dayIn = (timeZone: string, time = at): string => time.toLocaleDateString('sv-SE', { timeZone })
  const zone = ['Pacific/Kiritimati', 'Pacific/Pago_Pago'].find((each) => dayIn(each) !== dayIn('UTC')) ?? ''
  const away = await context.browser()!.newContext({ timezoneId: zone, locale: 'en-GB', storageState: await context.storageState() })
  const there = await away.newPage()
  const seen = (): Promise<string[]> => there.locator('#emails a.row').allTextContents()
  await there.goto(`${relay.baseUrl}/emails?since=${dayIn(zone)}&until=${dayIn(zone)}`)
  await expect.poll(seen).toEqual(['Second thing', 'First order'])
  await there.goto(`${relay.baseUrl}/emails?since=${dayIn('UTC')}&until=${dayIn('UTC')}`)
  await there.getByText('No email matches.').waitFor()
  await relay.call('POST', '/api/suppressions', { email: 'held@inbox.example' })
  const { body: entry } = await relay.call('GET', '/api/suppressions/held@inbox.example')
  await there.goto(`${relay.baseUrl}/emails/${await relay.send('held@inbox.example')}`)
  await there.getByRole('link', { name: 'See who added it' }).click()
  const day = dayIn(zone, new Date(entry.created_at as string))
  expect(new URL(there.url()).search).toBe(`?view=audit&since=${day}&until=${day}`)
  await there.getByText('suppressions.create').first().waitFor()
  await away.close()
})

test('a CSV has all emails that the filters match, not those of the page', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard({ settings: { plans: 'free=100000' } })
  for (let n = 0; n < 120; n++) await relay.send('ann@inbox.example', { subject: `order ${n}` })
  await relay.send('ann@inbox.example', { subject: 'another' })
  await tab.goto(`${relay.baseUrl}/emails?subject=order`)
  await expect.poll(() => tab.locator('#emails tbody tr').count()).toBe(50)
  const saved = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'CSV' }).click()
  const lines = (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n')
  expect(lines[0]).toBe('id,created_at,status,from,to,cc,bcc,subject,message_id')
  expect(lines).toHaveLength(121)
  expect(lines[120]).toContain('order 0')
  await tab.getByText('The file has all 120 emails that match.').waitFor()
  await tab.getByRole('button', { name: 'Older' }).click()
  await expect.poll(() => tab.locator('#emails tbody tr').first().textContent()).toContain('order 69')
})

test('Find leads from ids of requests and deliveries, a Message-ID and a part of a subject to what they are about', async () => {
  const { relay, tab } = await visitDashboard()
  const { db } = relay.relay.services
  await relay.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['email.delivered'] })
  const id = await relay.send('ann@inbox.example', { subject: 'First order' })
  const { body: email } = await relay.call('GET', `/api/emails/${id}`)
  await expect.poll(() => db.read('select id from webhook_delivery')).not.toEqual([])
  const [delivery] = await db.read<{ id: string }>('select id from webhook_delivery')
  const [recipient] = await db.read<{ id: string }>('select id from recipient')
  const find = tab.getByRole('dialog', { name: 'Find' })
  const hits = (): Promise<string[]> => find.getByRole('link').allTextContents()
  const type = async (text: string): Promise<void> => {
    await tab.goto(`${relay.baseUrl}/emails`)
    await tab.getByRole('heading', { level: 1 }).waitFor()
    await tab.keyboard.press('Control+k')
    await find.getByRole('searchbox').fill(text)
  }
  await type(` ${email.message_id} `)
  await expect.poll(hits).toEqual([`Email with the Message-ID ${email.message_id}`])
  await tab.keyboard.press('Enter')
  await expect.poll(() => tab.locator('#emails a.row').allTextContents()).toEqual(['First order'])
  await type(delivery!.id)
  await expect.poll(hits).toEqual([`Webhook delivery ${delivery!.id}`])
  await tab.keyboard.press('Enter')
  await expect.poll(() => tab.url()).toContain(`/deliveries/${delivery!.id}`)
  await type(recipient!.id)
  await expect.poll(hits).toEqual([`Email of ${recipient!.id}`])
  await type('rst ord')
  await find.getByRole('link', { name: 'Emails with “rst ord” in the subject' }).click()
  await expect.poll(() => tab.locator('#emails a.row').allTextContents()).toEqual(['First order'])
  await type(`rcp_${'0'.repeat(26)}`)
  await find.getByText('Nothing has this id.').waitFor()
  await keepScreenshot(tab, 'find-nothing')
  await relay.call('POST', '/api/domains', { name: 'other.example' })
  const [change] = await db.read<{ request_id: string }>(`select request_id from audit where operation = 'domains.create'`)
  const request = change!.request_id
  await type(request)
  await find.getByRole('link', { name: `Changes by the request ${request}` }).click()
  await tab.getByText('domains.create').waitFor()
  await expect.poll(() => tab.locator('main tbody tr').count()).toBe(1)
})
