const ends: (() => void)[] = []

/** Has something ended when this process ends, also by a signal; what was begun last is ended first. It may have ended before. */
export function endWithProcess(end: () => void): void {
  if (ends.length === 0) listen()
  ends.push(end)
}

function listen(): void {
  process.once('exit', () => {
    for (const end of ends.toReversed()) {
      try {
        end()
      } catch (error) {
        console.error(error)
      }
    }
  })
  for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }))
    process.once(signal, () => process.exit(128 + number))
}
