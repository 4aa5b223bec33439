/** One instruction of a Dockerfile; its value is one line. */
export interface DockerfileStep {
  name: string
  value: string
}

export const dockerfileSteps = (text: string): DockerfileStep[] =>
  text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ name: line.slice(0, line.indexOf(' ')), value: line.slice(line.indexOf(' ') + 1) }))
