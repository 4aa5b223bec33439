import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { LargeWorker } from '../../../src/api/large-work/large-worker.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { startedThreads } from '../../support/started-threads.ts'

const content = { subject: null, html: '', text: null, variables: [] }
const how = { field: 'variables', isComplete: true }

function worker(log = silentLog): LargeWorker {
  const started = new LargeWorker(log)
  onTestFinished(() => started.stop())
  return started
}

test('large work gives what small work gives, and refuses in the same words', async () => {
  const { templateWork } = worker()
  for (const count of [1, 20_000]) {
    const html = '<p>{{name}}</p>\n'.repeat(count)
    expect((await templateWork.render({ ...content, html }, { name: 'Ann' }, how)).html).toBe('<p>Ann</p>\n'.repeat(count))
    await expect(templateWork.render({ ...content, html }, {}, how)).rejects.toMatchObject({
      code: 'missing_template_variable',
      message: 'The template needs a value for name.',
    })
    expect(await templateWork.faults({ html: `${html}{{` })).toMatchObject([{ field: 'html', code: 'invalid_template' }])
  }
})

test('a small template that becomes a large email is rendered elsewhere, and what is too much is refused', async () => {
  const { templateWork } = worker()
  const long = { ...content, html: '{{#list}}<p>{{.}}</p>{{/list}}' }
  const rendered = await templateWork.render(long, { list: Array.from({ length: 20_000 }, (_, i) => i) }, how)
  expect(rendered.html).toHaveLength('<p></p>'.length * 20_000 + 88_890)
  const nested = { ...content, html: '{{#a}}{{#a}}{{#a}}{{#a}}x{{/a}}{{/a}}{{/a}}{{/a}}' }
  await expect(templateWork.render(nested, { a: Array.from({ length: 100 }, (_, i) => i) }, how)).rejects.toMatchObject({
    code: 'validation_error',
    message: expect.stringContaining('repeats too much'),
  })
})

test('while 5 MiB are rendered and compared, others have their turns', async () => {
  const { templateWork } = worker()
  const html = '<p>{{name}} and a line of text</p>\n'.repeat(140_000)
  const written = { ...content, layout: null, from: null, replyTo: [], html }
  let turns = 0
  let isDone = false
  const watch = (async () => {
    for (; !isDone; turns++) await nextTurn()
  })()
  const work = Promise.all([
    templateWork.faults({ html }),
    templateWork.diff(written, { ...written, html: html.replaceAll('line', 'row') }),
  ]).finally(() => (isDone = true))
  await Promise.all([work, watch])
  // Done here, it would all be one turn.
  expect(turns).toBeGreaterThan(10)
})

test('work whose thread ends is to be done again, what is behind it gets another thread, and the end is told', async () => {
  const threads = startedThreads()
  const told: string[] = []
  const started = worker({ ...silentLog, error: (_, message) => void told.push(message) })
  const [first, second] = [1, 2].map(() => started.run('parseJson', Buffer.from(`[${'1,'.repeat(100_000)}1]`)))
  // Node tells of a new thread in the next turn, long before it runs.
  await nextTurn()
  await Promise.all([threads.at(-1)?.terminate(), expect(first).rejects.toMatchObject({ code: 'service_unavailable' })])
  expect(await second).toHaveLength(100_001)
  expect(told).toEqual(['the thread for large requests has ended; the next one starts another'])
})

test('after a stop, waiting work is refused', async () => {
  const started = worker()
  const refused = [1, 2].map(() =>
    expect(started.run('partials', { id: '', versionId: '', ...content, layout: null })).rejects.toMatchObject({
      code: 'service_unavailable',
    }),
  )
  await started.stop()
  await Promise.all(refused)
})
