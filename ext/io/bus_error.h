/* SIGBUS: a mapped file was cut or overwritten in place, and the pages that a thread reads are gone. SIGSEGV: compiled
 * code is wrong. There is nothing to return to, so the process says one line, removes its unfinished files and ends.
 *
 * SIGBUS comes from a load of our own compiled code or of NumPy, never from inside the C library's allocator, so the
 * handler may call `opendir`. A crash may come from there: an alarm ends the process if the handler cannot. All that
 * it reads is prepared before. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUS_FILES = 64, BUS_FOLDERS = 64, BUS_PATH = 4096 };

typedef struct {
    const char *begin, *end;
    char message[BUS_PATH + 128];
} bus_file_t;

static bus_file_t bus_files[BUS_FILES];
static int bus_n_files;
static char bus_folders[BUS_FOLDERS][BUS_PATH];
static struct sigaction bus_before, crash_before;
static int bus_exit_code;
static pid_t bus_owner; /* 0: no handler */
static _Atomic int bus_teller; /* who says why the process ends: 0 nobody yet, 1 the handler, 2 others */

static void bus_remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

/* As if there were no handler: of a process that was forked, or for memory that is no file of ours. */
static void bus_as_before(int number)
{
    sigaction(number, number == SIGBUS ? &bus_before : &crash_before, NULL);
    raise(number);
}

/* Says why the process ends and removes what it leaves, unless another thread does so already: then it waits. */
static void bus_tell(const char *message)
{
    int teller = 0;
    if (!atomic_compare_exchange_strong(&bus_teller, &teller, 1)) {
        struct timespec second = {1, 0};
        do /* the other thread ends the process, unless this one holds what it needs */
            nanosleep(&second, NULL);
        while (teller == 1);
        return;
    }
    if (write(2, message, strlen(message)) < 0) {
        /* nobody reads it */
    }
    for (int j = 0; j < BUS_FOLDERS; j++)
        if (bus_folders[j][0])
            bus_remove_folder(bus_folders[j]);
}

static void bus_handle(int number, siginfo_t *info, void *context)
{
    const char *address = (const char *)info->si_addr;
    (void)context;
    if (getpid() == bus_owner && info->si_code > 0) {
        if (number == SIGSEGV) {
            alarm(5);
            bus_tell("gassst: compiled code has crashed (SIGSEGV): no output is complete. Please report the command\n");
        }
        for (int i = 0; i < bus_n_files && number == SIGBUS; i++)
            if (address >= bus_files[i].begin && address < bus_files[i].end) {
                bus_tell(bus_files[i].message);
                _exit(bus_exit_code);
            }
    }
    bus_as_before(number);
}

/* Whether the handler is ending the process; if not, it says nothing from here on. */
static int bus_is_ending(void)
{
    int teller = 0;
    return !atomic_compare_exchange_strong(&bus_teller, &teller, 2) && teller == 1;
}

/* Returns 0, or -1 where the system refuses. */
static int bus_install(int exit_code)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = bus_handle;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    bus_exit_code = exit_code;
    bus_owner = getpid();
    return sigaction(SIGBUS, &action, &bus_before) || sigaction(SIGSEGV, &action, &crash_before) ? -1 : 0;
}

static void bus_add_file(const char *path, const void *begin, size_t size)
{
    if (bus_owner == 0 || bus_n_files == BUS_FILES)
        return;
    bus_file_t *file = &bus_files[bus_n_files];
    file->begin = (const char *)begin;
    file->end = file->begin + size;
    snprintf(file->message, sizeof file->message,
             "gassst: %.4000s: the index was cut or overwritten while it was in use\n", path);
    bus_n_files++;
}

static void bus_add_folder(const char *path)
{
    for (int i = 0; i < BUS_FOLDERS; i++)
        if (!bus_folders[i][0] && strlen(path) < BUS_PATH) {
            strcpy(bus_folders[i], path);
            return;
        }
}

static void bus_drop_folder(const char *path)
{
    for (int i = 0; i < BUS_FOLDERS; i++)
        if (!strcmp(bus_folders[i], path))
            bus_folders[i][0] = 0;
}
