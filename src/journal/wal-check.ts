export async function checkWal(_path: string): Promise<void> {
  // TODO
}
