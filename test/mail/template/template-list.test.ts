import { expect, test } from 'vitest'
import { Accounts } from '../../../src/senders/account/accounts.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { LiveTemplates } from '../../../src/mail/template/live-templates.ts'
import { TemplateList } from '../../../src/mail/template/template-list.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const hello = {
  name: 'Hello',
  alias: 'hello',
  subject: null,
  html: 'one',
  text: null,
  from: null,
  replyTo: [],
  variables: [],
  layout: null,
}

async function open() {
  const db = await testDatabase()
  const clock = settableClock()
  const { id: accountId } = await new Accounts({ db, clock, changes: aloneWithChanges }).create('acme', 'free')
  return { db, accountId, list: new TemplateList({ db, clock, changes: aloneWithChanges }) }
}

/** Counts what is read, and holds it back as long as `gate` is closed. */
function watched(db: Database) {
  const watch = { reads: 0, gate: Promise.resolve() }
  const read: Database['read'] = async (sql, params) => {
    watch.reads++
    const rows = await db.read(sql, params)
    await watch.gate
    return rows as never
  }
  return { watch, live: new LiveTemplates({ read }, aloneWithChanges) }
}

test('a published template is read once, until it is changed', async () => {
  const { db, accountId, list } = await open()
  const { id } = await list.create(accountId, hello)
  await list.versions.publish(accountId, id, { by: null })
  const { watch, live } = watched(db)
  for (let i = 0; i < 3; i++) expect((await live.get(accountId, 'hello')).template.html).toBe('one')
  expect(watch.reads).toBe(1)
  await list.change(accountId, id, { html: 'two' })
  await list.versions.publish(accountId, id, { by: null })
  await live.reload(id)
  expect((await live.get(accountId, 'hello')).template.html).toBe('two')
})

test('what was read while it was being changed is not kept', async () => {
  const { db, accountId, list } = await open()
  const { id } = await list.create(accountId, hello)
  await list.versions.publish(accountId, id, { by: null })
  const { watch, live } = watched(db)
  const { promise, resolve } = Promise.withResolvers<void>()
  watch.gate = promise
  const early = live.get(accountId, 'hello')
  await list.change(accountId, id, { html: 'two' })
  await list.versions.publish(accountId, id, { by: null })
  await live.reload(id)
  resolve()
  expect((await early).template.html).toBe('one')
  expect((await live.get(accountId, 'hello')).template.html).toBe('two')
})

test('only so much is kept, those used last', async () => {
  const { db, accountId, list } = await open()
  const aliases = ['a', 'b', 'c', 'd']
  for (const alias of aliases) {
    await list.create(accountId, { ...hello, alias, html: alias.repeat(5_000_000) })
    await list.versions.publish(accountId, alias, { by: null })
  }
  const { watch, live } = watched(db)
  const readsOf = async (alias: string) => {
    const before = watch.reads
    await live.get(accountId, alias)
    return watch.reads - before
  }
  for (const alias of ['a', 'b', 'c']) expect(await readsOf(alias)).toBe(1)
  expect(await readsOf('a')).toBe(0)
  expect(await readsOf('d')).toBe(1)
  expect([await readsOf('a'), await readsOf('c'), await readsOf('b')]).toEqual([0, 0, 1])
})

test('an account has room for a thousand', async () => {
  const { accountId, list } = await open()
  await Promise.all(Array.from({ length: 1000 }, (_, i) => list.create(accountId, { ...hello, alias: `a${i}` })))
  await expect(list.create(accountId, hello)).rejects.toThrow('An account can have at most 1000 templates')
  await list.remove(accountId, 'a0')
  await list.create(accountId, hello)
})
