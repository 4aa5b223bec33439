import {
  analyticsGet,
  analyticsGetCsv,
  emailsCreate,
  emailsGet,
  emailsList,
  emailsListEvents,
  emailsSend,
  type Event,
} from './orval/client.ts'

const options = { headers: { Authorization: `Bearer ${process.env.KEY}`, 'Content-Type': 'application/json' } }

const sent = await emailsSend(
  {
    from: { email: 'app@sender.example', name: 'App' },
    to: ['delivered@simulator.test', { email: 'bounced@simulator.test' }],
    subject: 'Hello',
    html: '<p>Hello</p>',
    tags: { kind: 'welcome' },
    unsubscribe: { topic: 'news' },
  },
  {},
  { headers: { ...options.headers, 'Idempotency-Key': 'once' } },
)
if (sent.status !== 200) throw new Error(JSON.stringify(sent.data))
const { id } = sent.data

const list = await emailsList({ limit: 1, to: 'delivered@simulator.test' }, options)
if (list.status !== 200) throw new Error(JSON.stringify(list.data))

const email = await emailsGet(id, options)
if (email.status !== 200) throw new Error(JSON.stringify(email.data))

/** JSON and CSV have one type each. */
const counts = await analyticsGet({}, options)
if (counts.status !== 200) throw new Error(JSON.stringify(counts.data))
const totals: object = counts.data.totals
const table = await analyticsGetCsv({}, options)
if (table.status !== 200) throw new Error(JSON.stringify(table.data))
const csv: string = table.data
if (typeof totals !== 'object' || csv === '') throw new Error('no figures')

const bounceTypeOf = (event: Event): string | null => (event.type === 'email.bounced' ? event.data.bounce_type : null)

const bounceTypes = async (): Promise<(string | null)[]> => {
  const events = await emailsListEvents(id, {}, options)
  return events.status === 200 ? events.data.data.map(bounceTypeOf).filter((type) => type !== null) : []
}
while ((await bounceTypes()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20))

const refused = await emailsCreate({ to: 'nobody' }, {}, options)
console.log(
  JSON.stringify({
    listed: list.data.data.map((item) => item.id === id),
    recipients: email.data.recipients.map((recipient) => recipient.email),
    bounceTypes: await bounceTypes(),
    refused: refused.status === 422 ? refused.data.errors?.map(({ field }) => field) : [],
  }),
)
