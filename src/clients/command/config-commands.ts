import { createPrivateKey } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { readYaml } from '../../platform/config/yaml-tree.ts'
import { replaceFileLater } from '../../platform/durable-file.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { readAtMost } from '../../platform/read-at-most.ts'
import type { Made } from '../set-up/carry-out.ts'
import type { Change } from '../set-up/plan-changes.ts'
import { followReferences } from '../set-up/reference.ts'
import type { SetUpServices } from '../set-up/current-state.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { argument, flagOption, printable, textOption, type Command, type CommandInput, type CommandOutput } from './command.ts'
import { reasonOf } from '../../platform/plain-reason.ts'
import { writing } from './named-files.ts'

/** bytes; templates can be in files of their own */
const maxFileBytes = 16 * 1024 * 1024

/** What a dry run exits with if there is something to do: 1 is a failure, and 2 a bad command line. */
export const somethingToDo = 3

export const configCommands: Command[] = [
  {
    name: 'apply',
    needs: 'directory',
    args: ['FILE'],
    options: {
      'dry-run': { type: 'boolean', doc: 'Only shows what would change. Exits with 0 if nothing would, and with 3 if something would.' },
      prune: { type: 'boolean', doc: 'Also removes what the lists of the file do not have. Accounts are such a list.' },
    },
    doc:
      'Makes accounts, domains, templates, webhooks, keys and suppression policies equal to a YAML file. Shows each change first, and ' +
      'asks. What the file does not name stays as it is. A second time, it changes nothing. docs/configuration-as-code.md describes ' +
      'the file.',
    asks: (input) => (flagOption(input, 'dry-run') ? null : 'Make these changes?'),
    showsFirst: 'dry-run',
    recordsItself: true,
    prepare: readFile,
    async run(input, services) {
      const { faultsOfDesired: faultsOfWanted } = await import('../set-up/check-desired.ts')
      const { planChanges } = await import('../set-up/plan-changes.ts')
      const { readSetUp, refuseFaults } = await import('../set-up/read-set-up.ts')
      const { currentState } = await import('../set-up/current-state.ts')
      const file = argument(input, 0)
      const { tree, texts, faults } = (input.prepared ?? readFile(input, {})) as ReturnType<typeof readFile>
      refuseFaults(faults)
      const wanted = readSetUp(tree, { file, texts })
      const changes = async (): Promise<readonly Change[]> => {
        const standing = await currentState(services)
        const plan = planChanges(wanted, standing, { prune: flagOption(input, 'prune') })
        refuseFaults([...faultsOfWanted(wanted, standing, services), ...plan.faults])
        return plan.changes
      }
      if (flagOption(input, 'dry-run')) return planned(await changes())
      return oneAtATime(services, async () => carryOutAll(await changes(), services))
    },
  },
  {
    name: 'config export',
    reads: true,
    args: ['[FILE]'],
    options: {
      secrets: {
        type: 'string',
        value: 'DIRECTORY',
        doc: 'Writes DKIM keys, webhook secrets and passwords into files there, for this user alone, to which the YAML refers.',
      },
    },
    doc:
      'Prints the YAML file that "apply" would make this set-up from, or writes it into FILE. Keys are in it by their hash. Other secrets ' +
      'are left out unless --secrets is given.',
    run: exportSetUp,
  },
]

/**
 * The file, and what it refers to.
 * @throws SternaError `configuration` if the file cannot be read
 */
function readFile(input: CommandInput, env: Readonly<Record<string, string | undefined>>) {
  const file = argument(input, 0)
  const path = resolve(input.cwd, file)
  let source: string | undefined
  try {
    source = readAtMost(path, maxFileBytes)?.toString()
  } catch (error) {
    throw new SternaError('configuration', `${file} cannot be read (${reasonOf(error)}).`, { cause: error })
  }
  if (source === undefined) throw new SternaError('configuration', `${file} is larger than ${maxFileBytes} bytes.`)
  const faults: string[] = []
  const tree = readYaml(source, (line, message) => faults.push(`${file}:${line}: ${message}`))
  return { tree, texts: tree === null ? {} : followReferences(tree, { env, directory: dirname(path) }), faults }
}

async function planned(changes: readonly Change[]): Promise<CommandOutput> {
  const lines = await linesOf(changes)
  return {
    stdout: lines.length === 0 ? nothing : lines.join(''),
    json: { object: 'plan', changes: changes.map((change, i) => changeObject(change, lines[i] ?? '')) },
    stderr: lines.length === 0 ? '' : `${lines.length} ${lines.length === 1 ? 'change' : 'changes'} to make.\n`,
    exitCode: lines.length === 0 ? 0 : somethingToDo,
  }
}

const nothing = 'Nothing to change.\n'

async function linesOf(changes: readonly Change[]): Promise<string[]> {
  const { changeLine } = await import('../set-up/plan-text.ts')
  return changes.map((change) => `${printable(changeLine(change))}\n`)
}

const changeObject = ({ action, kind, account, name, fields }: Change, line: string): object => ({
  action,
  kind,
  account,
  name,
  fields: fields.map((field) => field.name),
  line: line.trimEnd(),
})

/** Makes one change after the other, and ends at the first that fails: what was made stands, and the rest follows the next time. */
async function carryOutAll(changes: readonly Change[], services: SetUpServices): Promise<CommandOutput> {
  const { carryOut } = await import('../set-up/carry-out.ts')
  const lines = await linesOf(changes)
  const made: Made[] = []
  let failure: unknown
  for (const change of changes) {
    try {
      made.push(await carryOut(change, services))
    } catch (error) {
      if (!(error instanceof SternaError)) services.log.error({ error }, 'a change of a set-up failed')
      failure = error
      break
    }
  }
  const shown = made.flatMap(({ token }, i) => [lines[i] ?? '', ...(token === undefined ? [] : [`        ${token}\n`])])
  const open = lines.slice(made.length)
  return {
    stdout: lines.length === 0 ? nothing : shown.join(''),
    json: {
      object: 'applied',
      changes: made.map(({ objectId, token }, i) => ({
        ...changeObject(changes[i] as Change, lines[i] ?? ''),
        id: objectId,
        ...(token === undefined ? {} : { token }),
      })),
      not_done: changes.slice(made.length).map((change, i) => changeObject(change, open[i] ?? '')),
      error: failure === undefined ? null : messageOf(failure),
    },
    stderr: failure === undefined ? remarksOn(changes, made) : notDone(failure, { open, isFirst: made.length === 0 }),
    exitCode: failure === undefined ? 0 : 1,
  }
}

function remarksOn(changes: readonly Change[], made: readonly Made[]): string {
  const domains = changes.filter(
    ({ kind, action, fields }) => kind === 'domain' && (action === 'create' || fields.some(({ name }) => name.startsWith('dkim_'))),
  )
  return [
    made.some(({ token }) => token !== undefined) ? 'Keep the new keys: they are not shown again.\n' : '',
    ...domains.map(({ name, account }) => `Publish the DNS records of ${name}: sterna domain show ${name} --account ${account}\n`),
  ].join('')
}

const notDone = (failure: unknown, { open, isFirst }: { open: string[]; isFirst: boolean }): string =>
  [
    `sterna: ${printable(messageOf(failure))}\n`,
    isFirst ? 'Nothing was changed. Not done:\n' : 'The changes above stand. Not done, the first of them because of this error:\n',
    ...open.map((line) => `  ${line}`),
    'Correct what the error names, and apply the file again.\n',
  ].join('')

async function exportSetUp(input: CommandInput, services: SetUpServices): Promise<CommandOutput> {
  const { currentState } = await import('../set-up/current-state.ts')
  const { writeSetUp } = await import('../set-up/write-set-up.ts')
  const file = input.args[0] === undefined ? null : resolve(input.cwd, argument(input, 0))
  const directory = textOption(input, 'secrets')
  const secretsAt = directory === undefined ? null : resolve(input.cwd, directory)
  const { yaml, secrets, remarks } = writeSetUp(await currentState(services), {
    secrets: secretsAt === null ? null : relative(file === null ? input.cwd : dirname(file), secretsAt) || '.',
    tokenOf: (keyId) => services.apiKeys.storedTokenOf(keyId),
    signingKeyOf: (domainId) => signingKeyOf(domainId, services),
    now: services.clock.now(),
  })
  if (secretsAt !== null) await writing(secretsAt, () => mkdir(secretsAt, { recursive: true, mode: 0o700 }))
  for (const { name, text } of secrets) await writing(name, () => replaceFileLater(join(secretsAt ?? '', name), text))
  if (file !== null) await writing(file, () => writeFile(file, yaml, { mode: 0o600 }))
  return {
    stdout: file === null ? yaml : `${file}\n`,
    json: { object: 'set_up', file, secrets: secrets.map(({ name }) => name), ...(file === null ? { yaml } : {}) },
    stderr: remarks.map((remark) => `${printable(remark)}\n`).join(''),
  }
}

/** The first key that signs; RSA comes first. */
function signingKeyOf(domainId: string, { sendingDomains }: SetUpServices): { selector: string; pem: string } | null {
  const key = sendingDomains
    .list()
    .find(({ id }) => id === domainId)
    ?.keys.find(({ state }) => state === 'active')
  if (!key) return null
  const privateKey = createPrivateKey({ key: Buffer.from(sendingDomains.privateKey(key.id)), format: 'der', type: 'pkcs8' })
  return { selector: key.selector, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}
