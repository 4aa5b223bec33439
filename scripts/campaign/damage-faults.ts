import { damage, pagesIn, type Page } from '../../test/support/damaged-pages.ts'
import { faultsOf } from './copy-faults.ts'
import { rowsIn } from './database-rows.ts'
import type { Fault } from './fault.ts'
import type { Stage } from './fault-stage.ts'

/** `cold`: the page with the first rows; `hot`: the page with the last ones, where new rows go. */
type Age = 'cold' | 'hot'

interface Chosen extends Page {
  age: Age
  /** Whether it has rows of its own, and new ones go elsewhere. */
  isApart: boolean
}

/** What is asked about the oldest email, by the table that is read for it. */
const paths: Record<string, string> = { message: '', recipient: '', content: '/source', attempt: '/attempts', event: '/events' }

/** A page of each table, or of each index, is damaged, one at a time: from a start on until it is mended and the server starts again. */
const damagedPages = (name: string, kind: Page['kind'], age: Age, more: { isShort?: true; only?: string[] } = {}): Fault => ({
  name,
  ...(more.isShort && { isShort: true }),
  async strike(stage) {
    const { supervised, directory } = stage
    // Enough for the tables of mail to have many pages.
    await stage.takes(150)
    await supervised.hold()
    const names = new Set(pagesIn(directory).flatMap((page) => (page.kind === kind ? [page.name] : [])))
    for (const each of names) if (more.only?.includes(each) ?? true) await runDamaged(stage, each, age)
    supervised.release()
    await stage.isUp()
  },
})

/** The directory is not in use before and after. */
async function runDamaged(stage: Stage, name: string, age: Age): Promise<void> {
  const { supervised, directory, problems } = stage
  const page = chosen(directory, name, age)
  const [oldest] = rowsIn(directory)<{ id: string }>('select id from message order by id limit 1')
  const mend = damage(directory, page)
  const before = supervised.endings.length
  supervised.release()
  await stage.demand(`up or refused with a damaged page of ${name}`, () => supervised.isUp || supervised.endings.length > before)
  if (supervised.endings.length === before) await goesOn(stage, page, oldest?.id ?? '')
  const endings = supervised.endings.slice(before)
  if (endings.length > 0 && page.isApart && name in paths) problems.push(`ended because of a damaged page of ${name}`)
  const silent = endings.find(({ stderr }) => !stderr.includes('sterna restore'))
  if (silent) problems.push(`with a damaged page of ${name} it ended without a way out: ${silent.stderr.trim().slice(-300)}`)
  await supervised.hold()
  mend()
}

function chosen(directory: string, name: string, age: Age): Chosen {
  const leaves = pagesIn(directory).filter((page) => page.name === name && page.type === 'leaf')
  const page = age === 'cold' ? leaves[0] : leaves.at(-1)
  return { ...(page as Page), age, isApart: age === 'cold' && leaves.length > 3 }
}

/** Mail is taken, unless new rows go onto that page, and whoever meets the damage is told. */
async function goesOn(stage: Stage, { name, isApart, kind }: Chosen, oldest: string): Promise<void> {
  const { server, ledger, problems } = stage
  const refused = (): number => ledger.refusals.get('500') ?? 0
  const before = refused()
  if (isApart && kind === 'table') await stage.takes(5)
  else await stage.lasts()
  const path = paths[name]
  const isRead = path !== undefined && (await ask(server, `/api/emails/${oldest}${path}`)) >= 500
  if (isApart && path !== undefined && !isRead) problems.push(`a damaged page of ${name} is read as if it were whole`)
  if (!isRead && refused() === before) return
  const told = await faultsOf(server)
  if (!told.some((fault) => fault.startsWith('damaged'))) problems.push(`a damaged page of ${name} is not told: ${told.join(', ')}`)
}

/** The status; of an answer that is broken off, 500. */
async function ask({ httpPort, token }: Stage['server'], path: string): Promise<number> {
  try {
    const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { headers: { authorization: `Bearer ${token}` } })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 500
  }
}

export const damageFaults: Fault[] = [
  damagedPages('a damaged page of content', 'table', 'cold', { isShort: true, only: ['content'] }),
  damagedPages('a damaged page of each table, cold', 'table', 'cold'),
  damagedPages('a damaged page of each table, hot', 'table', 'hot'),
  damagedPages('a damaged page of each index, cold', 'index', 'cold'),
]
