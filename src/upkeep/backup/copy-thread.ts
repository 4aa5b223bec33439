/** Runs the continuous copy. Started by continuous-copy.ts. */
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { LogSource } from '../../platform/store/file-copies.ts'
import type { CopiedLogPlace } from '../../platform/store/store.ts'
import type { TargetPlace } from './backup-settings.ts'
import { CopyRunner, type CopySettings, type CopyStatus } from './copy-runner.ts'
import { openTarget } from './open-target.ts'

/** What the thread is started with. */
export interface CopyJob extends TargetPlace {
  settings: CopySettings
  log: CopiedLogPlace
}

/** What it asks the main thread for, which answers with the id. */
export type CopyRequest = { id: number } & ({ begin: string } | { snapshot: string })
export type FromCopyThread = CopyRequest | { status: CopyStatus } | { stopped: true }
export type ToCopyThread = { id: number; error: string | null } | { stop: true }

const intervalMs = 1_000
/** After a failure, ms. */
const pauseMs = 2_000

const port = parentPort as MessagePort
const { place, access, settings, log } = workerData as CopyJob
const asked = new Map<number, { resolve: () => void; reject: (error: Error) => void }>()
const stopping = new AbortController()
let lastId = 0

const send = (message: FromCopyThread): void => port.postMessage(message)

function ask(what: { begin: string } | { snapshot: string }): Promise<void> {
  const id = ++lastId
  send({ id, ...what })
  return new Promise((resolve, reject) => asked.set(id, { resolve, reject }))
}

port.on('message', (message: ToCopyThread) => {
  if ('stop' in message) return stopping.abort()
  const waiting = asked.get(message.id)
  asked.delete(message.id)
  if (message.error === null) waiting?.resolve()
  else waiting?.reject(new Error(message.error))
})

const runner = new CopyRunner(
  {
    target: openTarget(place, access, '/'),
    source: new LogSource(log),
    begin: (generation) => ask({ begin: generation }),
    snapshot: (file) => ask({ snapshot: file }),
    tell: (status) => send({ status }),
    now: () => Date.now(),
  },
  settings,
)

void run()

async function run(): Promise<void> {
  while (!stopping.signal.aborted) {
    const startedAt = performance.now()
    const isDone = await runner.step()
    const leftMs = (isDone ? intervalMs : pauseMs) - (performance.now() - startedAt)
    await pause(Math.max(50, leftMs), undefined, { signal: stopping.signal }).catch(() => {})
  }
  // What was committed since the last step.
  await runner.step()
  send({ stopped: true })
  port.close()
}
