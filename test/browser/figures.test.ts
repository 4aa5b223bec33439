import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { composeDmarcReport, reportMail } from '../support/compose-domain-report.ts'
import { busyHistory, countHistory } from '../support/counted-history.ts'
import { faultsShown, keepScreenshot, openPage, pageFaults, visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'
import { keepStsPolicy } from '../support/keep-sts-policy.ts'
import { composeDsn, returnMail } from '../support/returned-mail.ts'
import { SmtpClient } from '../support/smtp-client.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

test('analytics shows what happened over time, as a drawing, a table and a file, for what was asked for', async () => {
  const { relay, tab } = await visitDashboard()
  const now = relay.clock.now()
  await countHistory(relay, [
    { at: now - 2 * hourMs, counts: { sent: 200, delivered: 190, bounced_permanent: 10 }, latencies: [[1_500, 190]] },
    { at: now - 2 * hourMs, breakdown: 'provider', value: 'google', counts: { delivered: 190, bounced_permanent: 10 } },
    { at: now - 2 * hourMs, breakdown: 'cause', value: 'invalid_recipient', counts: { bounced_permanent: 10 } },
    { at: now - 2 * hourMs, breakdown: 'tag', value: 'kind=receipt', counts: { sent: 20, delivered: 20 } },
    { at: now - 60 * 24 * hourMs, counts: { sent: 1_000, delivered: 900 } },
  ])
  await tab.getByRole('link', { name: 'Analytics' }).first().click()
  await tab.getByRole('heading', { name: '95 % of the mail arrived' }).waitFor()
  const chart = tab.getByRole('region', { name: 'Per day' })
  // The table is there for screen readers before anybody asks for it.
  expect(await chart.getByRole('row').count()).toBe(31)
  await chart.getByRole('slider').focus()
  await tab.keyboard.press('End')
  const told = chart.locator('.told')
  await expect.poll(() => told.textContent()).toMatch(/Delivered \d+, Not delivered \d+/)
  await tab.keyboard.press('Home')
  await expect.poll(() => told.textContent()).toMatch(/Delivered 0, Not delivered 0/)
  await chart.getByRole('button', { name: 'Table' }).click()
  await chart.getByRole('cell', { name: '190' }).waitFor()
  expect(await chart.getByRole('slider').count()).toBe(0)
  const file = tab.waitForEvent('download')
  await chart.getByRole('button', { name: 'CSV' }).click()
  const text = readFileSync(await (await file).path(), 'utf8')
  expect(text).toMatch(/^period,delivered,not_delivered\r\n/)
  expect(text).toMatch(/,190,10\r\n/)
  await tab.getByRole('row', { name: /^Google 190 95 % 5 %/ }).waitFor()
  await tab.getByRole('link', { name: 'Mailbox does not exist' }).waitFor()
  await tab.getByLabel('Period').selectOption('365d')
  await tab.getByRole('heading', { name: '90.8 % of the mail arrived' }).waitFor()
  expect(new URL(tab.url()).search).toBe('?period=365d')
  await tab.getByLabel('Tag').first().fill('kind=receipt')
  await tab.getByLabel('Tag').first().press('Enter')
  await tab.getByRole('heading', { name: '100 % of the mail arrived' }).waitFor()
  await tab.reload()
  await tab.getByRole('heading', { name: '100 % of the mail arrived' }).waitFor()
  await tab.getByLabel('Tag').first().fill('kind=unknown')
  await tab.getByLabel('Tag').first().press('Enter')
  await tab.getByText('Nothing sent in this period matches.').waitFor()
  await tab.getByRole('button', { name: 'Clear the filters' }).click()
  await tab.getByRole('heading', { name: '90.8 % of the mail arrived' }).waitFor()
  await tab.goto(`${relay.baseUrl}/analytics?period=9d`)
  await tab.getByText('There is no period “9d”. Choose one.').waitFor()
})

test('analytics without mail says what to do', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/analytics`)
  await tab.getByText('Nothing was sent in this period.', { exact: false }).waitFor()
  await tab.getByRole('button', { name: 'Look at the last 12 months' }).click()
  await expect.poll(() => new URL(tab.url()).search).toBe('?period=365d')
})

test('the overview says whether mail gets out, as the checks of this server see it, compares with the period before, and puts the worst first', async () => {
  const { relay, tab } = await visitDashboard()
  const now = relay.clock.now()
  await countHistory(relay, [
    { at: now - 2 * hourMs, counts: { sent: 999, delivered: 989, bounced_permanent: 10, complained: 5 }, latencies: [[1_500, 989]] },
    { at: now - 2 * hourMs, breakdown: 'cause', value: 'invalid_recipient', counts: { bounced_permanent: 10 } },
    { at: now - 30 * hourMs, counts: { sent: 500, delivered: 400 }, latencies: [[700, 400]] },
  ])
  await relay.call('POST', '/api/domains', { name: 'news.acme.example' })
  await relay.send('ann@inbox.example', { subject: 'Your receipt' })
  await tab.goto(`${relay.baseUrl}/`)
  await tab.getByRole('heading', { name: 'Mail may no longer get out' }).waitFor()
  await tab.getByText('500 the day before').waitFor()
  await tab.getByText('80 % the day before').waitFor()
  await tab.getByText('10 hard, 0 soft').waitFor()
  const notes = tab.getByRole('region', { name: 'Needs attention' })
  await notes.getByText('acme.example is missing a record.').waitFor()
  const told = await notes.locator('b').allTextContents()
  const placeOf = (words: string): number => told.findIndex((text) => text.includes(words))
  expect(placeOf('drew complaints')).toBeGreaterThan(-1)
  expect(placeOf('drew complaints')).toBeLessThan(placeOf('acme.example is missing a record'))
  await tab.getByText('Live', { exact: true }).waitFor()
  await relay.send('bob@inbox.example', { subject: 'Seen without a reload' })
  await tab.getByRole('link', { name: 'Seen without a reload' }).waitFor()
  await tab.getByRole('button', { name: '7 days' }).click()
  await tab.getByRole('region', { name: 'Per day' }).waitFor()
  expect(new URL(tab.url()).search).toBe('?period=7d')
  await tab.getByRole('link', { name: 'Mailbox does not exist' }).click()
  await tab.getByRole('heading', { level: 1, name: 'Emails' }).waitFor()
  expect(new URL(tab.url()).searchParams.get('status')).toBe('bounced')
})

test('the overview sees that mail bounces, and what else is wrong', async () => {
  const { relay, tab, context, addUser, logIn } = await visitDashboard()
  // To an operator, the checks of this server matter more: they fail here.
  await context.clearCookies()
  await logIn(await addUser('owner'))
  const at = relay.clock.now() - 2 * hourMs
  await countHistory(relay, [
    { at, counts: { sent: 1_000, delivered: 680, bounced_permanent: 320 } },
    { at: at - 24 * hourMs, counts: { sent: 1_000, delivered: 990, bounced_permanent: 10 } },
  ])
  await relay.send('ann@inbox.example')
  for (let n = 1; n <= 7; n++) await relay.call('POST', '/api/domains', { name: `news${n}.acme.example` })
  await tab.goto(`${relay.baseUrl}/`)
  await tab.getByRole('heading', { name: '32 % of the mail did not arrive' }).waitFor()
  const notes = tab.getByRole('region', { name: 'Needs attention' })
  await notes.getByText('In the period before it was 1 %.', { exact: false }).waitFor()
  const more = notes.getByRole('button', { name: /^\d+ more$/ })
  await more.waitFor()
  expect(await notes.locator('b').count()).toBe(5)
  await more.click()
  await expect.poll(() => notes.locator('b').count()).toBeGreaterThan(7)
})

test('the overview tells of a webhook that goes on failing, not of one that failed just now', async () => {
  const { relay, mx, tab } = await visitDashboard()
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['email.delivered'] })
  await relay.send('ann@inbox.example')
  await expect.poll(() => mx.messages.length).toBe(1)
  await expect.poll(async () => (await relay.call('GET', `/api/webhooks/${webhook.id}`)).body.failing_since).not.toBeNull()
  await tab.goto(`${relay.baseUrl}/`)
  await tab.getByRole('heading', { name: 'Mail may no longer get out' }).waitFor()
  expect(await tab.getByText('A webhook is failing').count()).toBe(0)
  await tab.clock.setFixedTime(Date.now() + 20 * 60_000)
  await tab.goto(`${relay.baseUrl}/`)
  await tab.getByText('A webhook is failing: http://127.0.0.1:9/hook').waitFor()
})

test('suppressions are searched, added, imported with a report, exported, and removed with a way back', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.getByRole('link', { name: 'Suppressions' }).first().click()
  await tab.getByText('No address is suppressed.', { exact: false }).waitFor()
  await tab.getByRole('button', { name: 'Add addresses' }).click()
  await tab.getByLabel('Addresses, one per line').fill('ann@inbox.example, bob@inbox.example\nnobody')
  await tab.getByLabel('Reason, for your team').fill('asked by phone')
  await tab.getByRole('button', { name: 'Add', exact: true }).click()
  await tab.getByText('One was refused. The others were added.').waitFor()
  expect(await tab.getByLabel('Addresses, one per line').inputValue()).toBe('nobody')
  await tab.getByRole('button', { name: 'Cancel' }).click()
  await tab.getByRole('row', { name: /^ann@inbox.example added by hand — asked by phone/ }).waitFor()

  await tab.getByRole('button', { name: 'Import' }).click()
  const lines = Array.from({ length: 2_300 }, (_, place) =>
    place % 1_000 === 7 ? `"broken ${place}",x` : `person${place}@inbox.example,x`,
  )
  await tab.getByLabel('File').setInputFiles({
    name: 'bounces.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`Email,Reason\r\n${lines.join('\r\n')}\r\n`),
  })
  await tab.getByText('2,300 addresses in bounces.csv.').waitFor()
  await tab.getByRole('button', { name: 'Suppress these' }).click()
  await tab.getByText('2,297 of 2,300 are on the list, 3 rows were refused.').waitFor()
  await tab
    .getByRole('cell', { name: '1,009' })
    .or(tab.getByRole('cell', { name: '1009' }))
    .waitFor()
  expect(await faultsShown(tab)).toEqual([])
  const refused = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Download the refused rows' }).click()
  expect(readFileSync(await (await refused).path(), 'utf8')).toMatch(/^line,email,why\r\n9,broken 7,/)
  await tab.getByRole('button', { name: 'Close' }).click()

  await tab.getByLabel('Address begins with').fill('PERSON22')
  await tab.getByLabel('Address begins with').press('Enter')
  await tab.getByRole('link', { name: 'person2299@inbox.example' }).waitFor()
  expect(await tab.getByRole('link', { name: 'ann@inbox.example' }).count()).toBe(0)
  const exported = tab.waitForEvent('download')
  await tab.getByRole('button', { name: 'Export as CSV' }).click()
  const rows = readFileSync(await (await exported).path(), 'utf8')
    .trim()
    .split('\r\n')
  expect(rows).toHaveLength(1 + lines.filter((line) => line.startsWith('person22')).length)

  await tab.getByLabel('Address begins with').fill('ann@')
  await tab.getByLabel('Address begins with').press('Enter')
  await tab.getByRole('button', { name: 'Remove' }).click()
  await tab.getByText('ann@inbox.example gets mail again.').waitFor()
  await tab.getByText('No suppressed address matches.').waitFor()
  expect((await relay.call('GET', '/api/suppressions/ann@inbox.example')).status).toBe(404)
  // The button has the focus.
  await tab.keyboard.press('Enter')
  await tab.getByRole('link', { name: 'ann@inbox.example' }).waitFor()
  expect((await relay.call('GET', '/api/suppressions/ann@inbox.example')).body).toMatchObject({ reason: 'asked by phone' })
})

test('an import can be stopped, and what it added stays', async () => {
  const { relay, tab, context } = await visitDashboard()
  let requests = 0
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await context.route('**/api/suppressions/batch/add', async (route) => {
    if (++requests === 2) await held
    await route.continue()
  })
  await tab.goto(`${relay.baseUrl}/suppressions`)
  await tab.getByRole('button', { name: 'Import' }).click()
  const lines = Array.from({ length: 5_000 }, (_, place) => `person${place}@inbox.example`)
  await tab.getByLabel('File').setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n')) })
  await tab.getByRole('button', { name: 'Suppress these' }).click()
  await tab.getByText('1,000 of 5,000 are on the list.').waitFor()
  await tab.keyboard.press('Escape')
  await tab.getByRole('button', { name: 'Stop' }).click()
  release()
  await tab.getByText('2,000 of 5,000 are on the list. It was stopped; what was added stays.').waitFor()
  expect(requests).toBe(2)
})

/** Receivers report on the relay's domain, and a bounce comes back. */
async function hearBack({ relay, mx }: DashboardVisit): Promise<void> {
  const { db } = relay.relay.services
  const beginAt = Math.floor(relay.clock.now() / dayMs) * dayMs - dayMs
  const dmarc = composeDmarcReport({
    beginAt,
    reporter: '<b>Receiver</b>',
    rows: [
      { sourceIp: '192.0.2.25', messages: 97, dkimAligned: true, spfAligned: false },
      { sourceIp: '198.51.100.7', messages: 3, dkimAligned: false, spfAligned: false, disposition: 'reject' },
    ],
  })
  const tls = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/tls/failures.json'), 'utf8'))
  tls['date-range'] = { 'start-datetime': new Date(beginAt).toISOString(), 'end-datetime': new Date(beginAt + dayMs).toISOString() }
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.receiver.example')
  const mail = reportMail([
    { type: 'text/xml', content: Buffer.from(dmarc) },
    { type: 'application/tlsrpt+json', content: Buffer.from(JSON.stringify(tls)) },
  ])
  expect((await client.send(mail, { to: ['dmarc-reports@relay.example'] })).code).toBe(250)
  client.close()
  await relay.send('gone@inbox.example')
  await expect.poll(() => mx.messages.length).toBe(1)
  const returned = composeDsn({ recipient: 'gone@inbox.example', diagnostic: '550 5.1.1 <i>No such user</i>' })
  expect((await returnMail(relay.returnPathPort, mx.messages[0]?.mailFrom ?? '', [returned]))[0]?.code).toBe(250)
  await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
}

test('reports say who sends in the name of a domain, what to publish next, and what came back', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  await hearBack(visit)
  await tab.getByRole('link', { name: 'Reports' }).first().click()
  await tab.getByRole('row', { name: /^sender.example .* 100 97 %/ }).waitFor()
  await tab.getByRole('cell', { name: 'bounced', exact: true }).waitFor()
  await tab.getByLabel('Kind').selectOption('complaint')
  await tab.getByText('No mail of this kind has come back.').waitFor()
  await tab.getByLabel('Kind').selectOption('bounce')
  await tab.getByText('Contents', { exact: true }).click()
  await tab.getByText('550 5.1.1 <i>No such user</i>').waitFor()
  await tab.getByRole('link', { name: 'sender.example' }).click()
  await tab.getByRole('heading', { name: '97 % of the mail in the name of sender.example passed' }).waitFor()
  await tab.getByText('The reports cover 1 of the required 7 days.').waitFor()
  await tab.getByRole('row', { name: /^198.51.100.7 Others 3 3 — — 3/ }).waitFor()
  await tab.getByRole('heading', { name: /of 5,643 connections to you were encrypted as promised/ }).waitFor()
  await tab.getByText('<b>Receiver</b>').waitFor()
  await tab.getByRole('row').filter({ hasText: '<b>Receiver</b>' }).getByText('Contents', { exact: true }).click()
  await tab.getByText('did not pass, rejected').waitFor()
  expect(await faultsShown(tab)).toEqual([])
  await relay.call('POST', '/api/domains', { name: 'news.acme.example' })
  await tab.goto(`${relay.baseUrl}/reports/news.acme.example`)
  await tab.getByRole('heading', { name: 'Nobody has reported about news.acme.example' }).waitFor()
  await tab.getByText('Publish a DMARC record').waitFor()
  await tab.getByRole('button', { name: 'Copy Value' }).first().waitFor()
  await tab.getByText(/^v=DMARC1; p=none/).waitFor()
  await tab.getByText('_dmarc.news', { exact: true }).waitFor()
  const [viewer, other] = [await visit.addUser('viewer'), await visit.openTab()]
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await visit.logIn(viewer, other)
  await other.goto(`${relay.baseUrl}/reports/sender.example`)
  await other.getByRole('heading', { name: '97 % of the mail in the name of sender.example passed' }).waitFor()
})

test('an operator looks into the queue of a destination, changes it, and learns what would happen to an address', async () => {
  const visit = await visitDashboard({ hooks: { rcpt: () => '451 4.7.1 <i>Greylisted</i>' } })
  const { relay, tab } = visit
  await relay.send(['ann@inbox.example', 'bob@inbox.example'])
  await relay.call('POST', '/api/suppressions', { email: 'gone@inbox.example', reason: 'asked by phone' })
  await tab.getByRole('link', { name: 'Queue' }).first().click()
  await tab.getByRole('heading', { name: '2 recipients are waiting' }).waitFor()
  await tab.getByRole('link', { name: 'inbox.example' }).click()
  await tab.getByRole('heading', { name: '2 recipients are waiting for inbox.example' }).waitFor()
  await tab.getByText('451 4.7.1 <i>Greylisted</i>').first().waitFor()
  await tab.getByRole('button', { name: 'Hold' }).click()
  await tab.getByText('Done for 2 recipients.').waitFor()
  expect(await tab.getByRole('button', { name: 'Try now' }).count()).toBe(0)
  await tab.getByText('Held', { exact: true }).nth(1).waitFor()
  await tab.getByRole('textbox', { name: 'Address' }).fill('gone@inbox.example')
  await tab.getByRole('button', { name: 'Check' }).click()
  await tab.getByText('Mail for gone@inbox.example would be held', { exact: false }).waitFor()
  await tab.getByText('for the account test, cause: added by hand: asked by phone', { exact: false }).waitFor()
  expect(await faultsShown(tab)).toEqual([])
  expect(new URL(tab.url()).searchParams.get('explain')).toBe('gone@inbox.example')
  await tab.getByRole('button', { name: 'Release' }).click()
  await tab.getByRole('button', { name: 'Try now' }).waitFor()
  await tab.getByRole('button', { name: 'Give up' }).click()
  await tab.getByText('Mail for 2 recipients is given up', { exact: false }).waitFor()
  await tab.getByLabel('Type inbox.example to confirm').fill('inbox.example')
  await tab.getByRole('dialog').getByRole('button', { name: 'Give up' }).click()
  await tab.getByRole('heading', { name: 'Nothing is waiting for inbox.example' }).waitFor()
  const [owner, other] = [await visit.addUser('owner'), await visit.openTab()]
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await visit.logIn(owner, other)
  await other.goto(`${relay.baseUrl}/queue/inbox.example`)
  await other.getByRole('heading', { name: 'This page is for operators of this server.' }).waitFor()
})

test('what the API says is German on each page that shows it, wherever a visit begins', async () => {
  const { relay, tab, openTab } = await visitDashboard()
  await relay.send('ann@inbox.example')
  await tab.evaluate(() => localStorage.setItem('sterna-language', 'de'))
  for (const [page, path] of [
    ['/health', '/api/doctor'],
    ['/domains/sender.example', '/dmarc'],
    ['/', '/api/doctor'],
  ] as const) {
    const other = await openTab()
    const answer = other.waitForResponse((response) => response.url().includes(path))
    await openPage(other, relay.baseUrl + page)
    const { findings, advice } = await (await answer).json()
    const sentences: string[] = findings?.map((finding: { what: string }) => finding.what) ?? advice.reasons
    const shown = await other.locator('main').innerText()
    expect(sentences).not.toEqual([])
    for (const sentence of sentences) expect(shown).not.toContain(sentence)
    await keepScreenshot(other, `german${page.replaceAll('/', '-')}`)
  }
})

test('an operator sees the MTA-STS policy that mail for an address goes by', async () => {
  const { relay, tab } = await visitDashboard()
  const domain = await keepStsPolicy(relay.relay.services)
  Object.assign(relay.dns.zone, { [domain]: { mx: [[0, `mx.${domain}`]] }, [`mx.${domain}`]: { a: ['127.0.0.2'] } })
  await tab.goto(`${relay.baseUrl}/queue?explain=ann%40${domain}`)
  await tab.getByText(/^Until .*, only with a valid certificate and only to mx\.policy\.example\.$/).waitFor()
  await keepScreenshot(tab, 'explain-mta-sts')
  expect(await faultsShown(tab)).toEqual([])
})

test('the pages of figures pass the rules in both themes, wide and narrow', { timeout: 300_000 }, async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  await hearBack(visit)
  await countHistory(relay, busyHistory(relay.clock.now()))
  await relay.send(['ann@inbox.example', 'bob@inbox.example'], { subject: 'Your receipt' })
  await relay.call('POST', '/api/suppressions', { emails: ['gone@inbox.example', 'never@inbox.example'], reason: 'asked by phone' })
  await relay.send(['ann@slow.example', 'bob@slow.example'])
  const pages: [name: string, path: string][] = [
    ['overview-busy', '/'],
    ['analytics', '/analytics'],
    ['analytics-hours', '/analytics?period=7d&granularity=hourly'],
    ['analytics-tag', '/analytics?period=24h&tag=kind%3Dreceipt'],
    ['suppressions', '/suppressions'],
    ['reports', '/reports'],
    ['queue-waiting', '/queue?explain=gone%40inbox.example'],
    ['queue-destination', '/queue/slow.example'],
    ['queue-destination-none', '/queue/fast.example'],
    ['health-records', '/health'],
    ['settings-values', '/settings'],
    ['domain-reports', '/reports/sender.example'],
    ['suppressions-none', '/suppressions?email=zzz'],
    ['analytics-fault', '/analytics?period=9d'],
  ]
  expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
  await openPage(tab, `${relay.baseUrl}/analytics`)
  const tables = await tab.getByRole('button', { name: 'Table' }).all()
  expect(tables).not.toEqual([])
  for (const button of tables) await button.click()
  expect(await faultsShown(tab)).toEqual([])
})
