import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../../senders/account/accounts.ts'
import { SternaError } from '../../platform/errors.ts'
import { pages, type Page } from '../../platform/store/page-clause.ts'
import type { CommandServices } from './command-services.ts'

/** An export that is being written. */
export interface Export {
  account: Account
  directory: string
  services: CommandServices
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal
  files: { name: string; lines: number }[]
}

/** @throws SternaError `invalid_state` if nobody waits for the export any longer */
export function goOn({ signal }: Export): void {
  if (signal.aborted) throw new SternaError('invalid_state', 'The export was interrupted, and its directory is not complete.')
}

interface Source<Row> {
  page(page: Page): Promise<Row[]>
  objects(rows: Row[]): readonly object[] | Promise<readonly object[]>
}

export const exportPages = <Row extends { id: string }>(task: Export, name: string, { page, objects }: Source<Row>): Promise<void> =>
  exportFile(task, name, async (file) => {
    for await (const rows of pages(page)) {
      goOn(task)
      await file.write(await objects(rows))
    }
  })

export const exportLines = (task: Export, name: string, objects: readonly object[]): Promise<void> =>
  exportFile(task, name, (file) => file.write(objects))

/** A new file of lines of JSON, for its owner alone. */
export interface LineFile {
  write(objects: readonly object[]): Promise<void>
}

/** Writes a file of the export, and lists it once it is whole. */
export async function exportFile({ directory, files }: Export, name: string, write: (file: LineFile) => Promise<void>): Promise<void> {
  const file = await open(join(directory, name), 'wx', 0o600)
  let lines = 0
  try {
    await write({
      async write(objects) {
        await file.appendFile(objects.map((object) => `${JSON.stringify(object)}\n`).join(''))
        lines += objects.length
      },
    })
  } finally {
    await file.close()
  }
  files.push({ name, lines })
}
